// Discovers a topology with hwloc. No other file includes hwloc's headers.
#pragma once

#include <string>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Models of GPUs, for people. A rank needs none, and reading them doubles the time.
enum class DeviceNames { read, left_out };

/// Returns the machine of this process, with I/O devices. allowed_cpus is the process's binding
/// intersected with its cgroup. unavailable: hwloc cannot read this machine.
Result<Topology> discover_topology(DeviceNames names);

/// Loads hwloc XML from a file or pipe (v2, or v1 as hwloc 2 imports it). Runs in a short-lived
/// child, since hwloc 2.9 crashes on some damaged files; a crash or more than 10 s is an error.
/// bad_request: names the file and the problem, such as hwloc 3 XML.
Result<Topology> topology_from_xml(const std::string& path);

/// The hwloc version at build time, such as "2.9.0".
std::string hwloc_version();

}  // namespace dllaunch
