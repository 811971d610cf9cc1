// Finds the node that --topology names.
#pragma once

#include <string>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// The topology called `name`: of load_topology(name); of a cluster profile's node for "NAME",
/// "NAME:NODE" or "NAME:PARTITION"; of a probed node for "probed:PARTITION" or
/// "probed:CLUSTER/PARTITION"; of this node if empty. unsatisfiable: nothing was probed there, or
/// several node types.
Result<Topology> named_topology(System& system, const std::string& name);

/// The same, but this machine also has what the GPU vendors' libraries report; may take seconds.
Result<Topology> observed_topology(System& system, const std::string& name);

}  // namespace dllaunch
