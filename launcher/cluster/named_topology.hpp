// The node that --topology names.
#pragma once

#include <string>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// load_topology(name); a node of a cluster profile where it is "NAME", "NAME:NODE" or
/// "NAME:PARTITION"; what `dllaunch probe` kept where it is "probed:PARTITION" or
/// "probed:CLUSTER/PARTITION"; the node this process runs on where `name` is empty.
/// unsatisfiable: nothing was probed there, or several kinds of node.
Result<Topology> named_topology(System& system, const std::string& name);

/// The same; this machine with what the GPU vendors' libraries add to it, which may take seconds.
Result<Topology> observed_topology(System& system, const std::string& name);

}  // namespace dllaunch
