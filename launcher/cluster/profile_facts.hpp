// Facts about a cluster that is not here, derived from its profile. Pure.
#pragma once

#include <memory>

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/facts.hpp"

namespace dllaunch {

/// The profile's partitions, nodes and MPI plugin as facts. Nodes selected by constraint are all in
/// a partition `any`. unsatisfiable: the profile describes no nodes.
Result<Facts> facts_from_profile(std::shared_ptr<const ClusterProfile> profile);

}  // namespace dllaunch
