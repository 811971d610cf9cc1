// Converts the output of Slurm's commands to facts. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// Groups nodes by partition and type; lists outages separately.
SlurmFacts slurm_facts(const SlurmConfig& config, const std::vector<SlurmPartition>& partitions,
                       const std::vector<SlurmNode>& nodes);

std::vector<Reservation> reservation_facts(const std::vector<SlurmReservation>& reservations);

/// A cluster recorded without dllaunch: what these commands print, one after the other in one file,
/// any of them left out, text or --json (the latter from Slurm 23.02 on, `sinfo` from 22.05 on):
///   scontrol show config; scontrol show partition; scontrol show node; srun --mpi=list
/// bad_request: no node of a partition is in it; JSON that does not end.
Result<Facts> facts_from_recording(std::string_view text);

}  // namespace dllaunch
