// A name shared by the ranks of one start and by no other start. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Returns "slurm-12.0-r1" (job, step, restart count: a requeued job does not read files of its
/// earlier start), "openmpi-<hash of what mpirun passes to all ranks>", else a name from `parent`,
/// which only ranks of one node share. Safe as a file name.
std::string start_name(const RankEnv& rank, const EnvLookup& lookup, std::string_view parent);

/// Returns the nodes of this Slurm step, rank 0's first; empty without Slurm.
std::vector<std::string> step_hosts(const RankEnv& rank, const EnvLookup& lookup);

/// Returns the ports on which rank 0 may answer other nodes without a run directory: above the
/// ephemeral range, in an order derived from the start's name.
std::vector<int> agreed_ports(std::string_view start_name);

}  // namespace dllaunch
