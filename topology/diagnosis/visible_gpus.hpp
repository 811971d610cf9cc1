// Which GPUs a process sees, and which of them it drives: the rules of the VISIBLE_DEVICES
// variables.
#pragma once

#include <string>
#include <vector>

#include "topology/diagnosis/rank_observation.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct VisibleGpus {
  std::vector<int> gpus = {};  // positions in Topology::gpus, in the runtime's own order
  std::string variable = {};   // "CUDA_VISIBLE_DEVICES=0,1": what decided; empty: nothing is set
  bool identified = true;      // false: UUIDs that the topology does not know; `count` holds
  int count = 0;               // GPUs or partitions seen
  bool mig = false;            // MIG ids
  std::vector<std::string> wrong = {};  // sentences: "GPU 7 of 4", two variables that exclude ...
};

/// NVIDIA: CUDA_VISIBLE_DEVICES, in which the first invalid entry ends the list and "" or "-1" is
/// no GPU. AMD: ROCR_VISIBLE_DEVICES, and HIP_VISIBLE_DEVICES (else CUDA_VISIBLE_DEVICES) counts
/// among those that are left. Intel: ZE_AFFINITY_MASK. Where the cgroup lets a process open only
/// some /dev/nvidiaN, indexes count among these. A node with GPUs of two vendors: those of the
/// loaded runtime, else the first vendor's.
VisibleGpus visible_gpus(const Topology& topology, const RankObservation& rank);

/// Those it may be driving: its only one; local rank i drives the i-th, or where ranks are fewer
/// than GPUs, possibly its share of them in order. Empty: not known, or none.
std::vector<int> driven_gpus(const VisibleGpus& visible, const RankObservation& rank);

}  // namespace dllaunch
