// The CPUs that `reserve` keeps free for the system.
#pragma once

#include <string>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Returns the CPUs of a PlacementRequest::reserve; empty for auto and none. A listed first thread
/// reserves its siblings too.
/// bad_request: a list that does not parse, or a CPU that the node lacks.
Result<IdSet> reserved_cpus(const Topology& topology, const std::string& reserve);

}  // namespace dllaunch
