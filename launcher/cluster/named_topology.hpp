// Finds the node that --topology names.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Returns the topology that `name` selects. Empty: this node. PROFILE, PROFILE:NODE or
/// PROFILE:PARTITION: a node of that cluster profile. probed:PARTITION or probed:CLUSTER/PARTITION:
/// a probed node; its type may stand for the partition. Otherwise: load_topology(name).
/// unsatisfiable: nothing was probed there, or several node types.
Result<Topology> named_topology(System& system, const std::string& name);

/// A node of a cluster's profile: the partition's; the first if `partition` is empty. nullopt: the
/// profile has only examples, or no such partition, with a warning. Errors: find_profile()'s.
Result<std::optional<Topology>> cluster_topology(System& system, const std::string& cluster,
                                                 const std::string& partition);

/// named_topology(). If it is this node, NVML or ROCm SMI complete its GPUs, which may take
/// seconds.
Result<Topology> observed_topology(System& system, const std::string& name);

/// What the profile in `name` appends to host names for the ranks' rendezvous; empty: nothing, or
/// `name` selects no profile.
std::string host_suffix_of(System& system, const std::string& name);

}  // namespace dllaunch
