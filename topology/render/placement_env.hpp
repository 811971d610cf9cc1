// The variables that make a rank's libraries follow its placement: OpenMP, GPU runtimes, NCCL.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/placement/placement.hpp"

namespace dllaunch {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// One place a core, in OpenMP's words: "{49},{50}", "{0:2:64},{1:2:64}" with both hardware
/// threads. Without a comma inside braces where the threads allow it: bash would expand that when
/// pasted.
std::string omp_places(const Topology& topology, const IdSet& cpus);

/// OMP_NUM_THREADS, OMP_PLACES and OMP_PROC_BIND of one rank: a thread a core. With policy none a
/// rank has no places of its own, only its fair share of the cores as OMP_NUM_THREADS.
Variables openmp_variables(const Topology& topology, const Placement& placement,
                           const RankPlacement& rank);

/// CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, ZE_AFFINITY_MASK of one rank, with the order that
/// CUDA's numbers mean. Empty for a rank without GPUs and for MIG slices, which have no numbers.
Variables device_variables(const Topology& topology, const RankPlacement& rank);

/// NCCL_IB_HCA (matched exactly: mlx5_1 is not mlx5_10) and NCCL_SOCKET_IFNAME, the same for all
/// ranks: every fabric NIC that no other is nearer to one of the ranks' GPUs. Empty without GPUs or
/// fabric.
Variables nccl_variables(const Topology& topology, const Placement& placement);

}  // namespace dllaunch
