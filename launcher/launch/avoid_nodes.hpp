// What recovery.avoid changes in a job before it is planned: the nodes that sbatch is told to
// exclude.
#pragma once

#include <string>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// Adds to resources.exclude what recovery.avoid says, by the node book where it is `auto`. Returns
/// one sentence for each node that is avoided, or is not, and why. Changes nothing where the nodes
/// of the job's partition are not known.
std::vector<std::string> avoid_nodes(System& system, Job& job, const Facts& facts);

/// The node book that the profile of the cluster here names; empty: none. Asks Slurm only where
/// DLLAUNCH_NODE_BOOK does not decide.
std::string site_node_book(System& system);

}  // namespace dllaunch
