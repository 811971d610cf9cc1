// Checks of where in the network a job asks for its nodes. Pure.
#pragma once

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/presubmit/finding.hpp"

namespace dllaunch {

/// Warns of a job that is wider than a block and has no segment; finds segments, and numbers of
/// switches, that this Slurm or its network cannot give. A network that is not known is no reason
/// for a finding.
CheckFindings check_network(const Job& job, const SlurmFacts& slurm);

}  // namespace dllaunch
