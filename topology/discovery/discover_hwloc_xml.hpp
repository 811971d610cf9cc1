// This machine as hwloc XML: for a cache, a bug report, or --topology elsewhere.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Returns hwloc XML (v2) of the whole node with its devices. CPUs and memory that this process may
/// not use are marked as disallowed, so topology_from_xml() reads the same topology that
/// discover_topology() returns.
/// unavailable: hwloc cannot read this machine, or its environment variables name another one.
Result<std::string> machine_xml();

}  // namespace dllaunch
