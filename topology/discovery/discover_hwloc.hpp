// The only door to hwloc.
#pragma once

#include <string>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// The machine this process runs on, with I/O devices; allowed_cpus is the process's own binding
/// met with its cgroup. unavailable: hwloc cannot read this machine.
Result<Topology> discover_topology();

/// From hwloc XML in a file or pipe (v2, or v1 as hwloc 2 imports it). Loaded in a short-lived
/// child process, since hwloc 2.9 crashes on some damaged files: a crash or more than 10 s is a
/// refusal. bad_request: names the file and what is wrong (hwloc 3 XML is recognised and named).
Result<Topology> topology_from_xml(const std::string& path);

/// Version of the hwloc that this was built with, e.g. "2.9.0".
std::string hwloc_version();

}  // namespace dllaunch
