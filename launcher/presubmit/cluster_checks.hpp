// Checks against the facts alone: partition, GPUs, nodes, time, account, reservation. Pure.
#pragma once

#include <cstdint>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/presubmit/finding.hpp"

namespace dllaunch {

/// `now`: Unix seconds, for reservations.
CheckFindings check_cluster(const Job& job, const SlurmFacts& slurm, std::int64_t now);

/// The existing partitions among those the job names, or the default one.
std::vector<const Partition*> partitions_of(const Resources& resources, const SlurmFacts& slurm);

}  // namespace dllaunch
