// The variables that make a rank's libraries follow its placement: OpenMP, GPU runtimes, NCCL.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/placement/placement.hpp"

namespace dllaunch {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Returns one OpenMP place per core: "{49},{50}", or "{0:2:64},{1:2:64}" with both hardware
/// threads. Avoids commas inside braces where possible: bash would expand them when pasted.
std::string omp_places(const Topology& topology, const IdSet& cpus);

/// OMP_NUM_THREADS, OMP_PLACES and OMP_PROC_BIND of one rank: one thread per core. Policy none sets
/// only OMP_NUM_THREADS, to the rank's equal share of the cores.
Variables openmp_variables(const Topology& topology, const Placement& placement,
                           const RankPlacement& rank);

/// CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK of one rank, plus the order that
/// CUDA indexes refer to. Empty for a rank without GPUs, and for MIG slices, which have no index.
Variables device_variables(const Topology& topology, const RankPlacement& rank);

/// NCCL_IB_HCA (exact match: mlx5_1 is not mlx5_10) and NCCL_SOCKET_IFNAME, equal for all ranks:
/// every fabric NIC that is among the nearest to some rank's GPU. Empty without GPUs or fabric.
Variables nccl_variables(const Topology& topology, const Placement& placement);

}  // namespace dllaunch
