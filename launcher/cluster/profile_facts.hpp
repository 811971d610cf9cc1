// What a cluster profile stands in for: facts of a cluster that is not here. Pure.
#pragma once

#include <memory>

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/facts.hpp"

namespace dllaunch {

/// The cluster as the profile has it: its partitions, its nodes, its way to start MPI.
/// Nodes that a job gets by their constraint are all in a partition `any`.
/// unsatisfiable: the profile says nothing of nodes.
Result<Facts> facts_from_profile(std::shared_ptr<const ClusterProfile> profile);

}  // namespace dllaunch
