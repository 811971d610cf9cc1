// What the ranks of one start have in common and no other start has. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// "slurm-12.0-r1" (job, step, restart count: a requeued job never reads what its former self left
/// behind), "openmpi-<hash of what mpirun gave all its ranks>", else of `parent`, which is the same
/// for ranks of one node only. Safe as a file's name.
std::string start_name(const RankEnv& rank, const EnvLookup& lookup, std::string_view parent);

/// The nodes of this Slurm step, that of rank 0 first; empty where Slurm did not start us.
std::vector<std::string> step_hosts(const RankEnv& rank, const EnvLookup& lookup);

/// Where rank 0 may be asked by ranks of other nodes when there is no run directory: ports above
/// those that kernels give out by themselves, in an order that every start has for itself.
std::vector<int> agreed_ports(std::string_view start_name);

}  // namespace dllaunch
