// The CPUs that a `reserve` keeps free for the system.
#pragma once

#include <string>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// `reserve` as PlacementRequest has it; auto and none are the empty set. Siblings of a listed
/// first thread are reserved with it. bad_request: a list that does not parse, or a CPU the node
/// lacks.
Result<IdSet> reserved_cpus(const Topology& topology, const std::string& reserve);

}  // namespace dllaunch
