// Which GPUs a process sees and which it drives: the rules of the VISIBLE_DEVICES variables.
#pragma once

#include <string>
#include <vector>

#include "topology/diagnosis/rank_observation.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct VisibleGpus {
  std::vector<int> gpus = {};  // positions in Topology::gpus, in the runtime's order
  std::string variable = {};   // "CUDA_VISIBLE_DEVICES=0,1": what decided; empty: none is set
  bool identified = true;      // false: UUIDs not in the topology; only `count` is valid
  int count = 0;               // GPUs or partitions seen
  bool mig = false;            // MIG ids
  std::vector<std::string> wrong = {};  // "GPU 7 of 4", two conflicting variables ...
};

/// Returns the GPUs that the rank's runtime would enumerate. NVIDIA: CUDA_VISIBLE_DEVICES; its
/// first invalid entry ends the list, and "" or "-1" selects none. AMD: ROCR_VISIBLE_DEVICES, then
/// HIP_VISIBLE_DEVICES (else CUDA_VISIBLE_DEVICES) indexes what is left. Intel: ZE_AFFINITY_MASK.
/// If the cgroup allows only some /dev/nvidiaN, indexes count among these. On a node with GPUs of
/// two vendors, the loaded runtime decides, else the first vendor counts.
VisibleGpus visible_gpus(const Topology& topology, const RankObservation& rank);

/// Returns the GPUs that the rank may be driving: the only visible one, the i-th for local rank i,
/// or with fewer ranks than GPUs possibly its share in order. Empty: unknown, or none.
std::vector<int> driven_gpus(const VisibleGpus& visible, const RankObservation& rank);

}  // namespace dllaunch
