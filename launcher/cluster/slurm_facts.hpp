// Converts the output of Slurm's commands to facts. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// Groups nodes by partition and type; lists outages separately.
SlurmFacts slurm_facts(const SlurmConfig& config, std::vector<Partition> partitions,
                       const std::vector<SlurmNode>& nodes);

/// The facts from a cluster recorded without dllaunch: the output of any of these commands, in one
/// file, as text or --json (`sinfo` from Slurm 22.05 on, the others from 23.02 on):
///   scontrol show config; scontrol show partition; scontrol show node; srun --mpi=list
/// bad_request: it has no node of a partition, or incomplete JSON.
Result<Facts> facts_from_recording(std::string_view text);

}  // namespace dllaunch
