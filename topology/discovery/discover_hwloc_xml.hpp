// This machine in hwloc's own words: for a cache, a bug report, another machine's --topology.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// hwloc XML (v2) of the whole node with its devices. CPUs and memory that this process may not use
/// stand in it as disallowed, so topology_from_xml() reads from it what discover_topology() says
/// here. unavailable: hwloc cannot read this machine, or was told by its environment to show
/// another.
Result<std::string> machine_xml();

}  // namespace dllaunch
