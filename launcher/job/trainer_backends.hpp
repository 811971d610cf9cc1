// Capabilities of this build's trainer: unsupported jobs are refused before they are queued, and
// ranks are placed near GPUs that the trainer supports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/json.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct TrainerBackend {
  std::string name = {};                     // as train.backend has it
  std::string device = {};                   // cpu | cuda | hip
  std::vector<std::string> precisions = {};  // as train.precision has them
  bool gpu_memory = false;                   // its parameters may reside there
};

/// The backends listed by `dltrain --describe`; empty if it lists none.
std::vector<TrainerBackend> trainer_backends(const Json& train_schema);

/// The backends of this build.
const std::vector<TrainerBackend>& trainer_backends();

/// The backends that match train.backend and resources.device; either may be auto.
std::vector<TrainerBackend> backends_for(const std::vector<TrainerBackend>& all,
                                         std::string_view backend, std::string_view device);

/// The GPU kinds among their devices, each once: {"cuda"}.
std::vector<std::string> gpu_devices(const std::vector<TrainerBackend>& backends);

/// Whether one of these devices supports GPUs of the node: a vendor matches or is unknown.
bool drives_gpus_of(const Topology& node, const std::vector<std::string>& devices);

/// Why no backend supports the precision; empty: one does, or there are none.
std::string precision_problem(const std::vector<TrainerBackend>& choice,
                              std::string_view precision);
/// The same for runtime.allreduce: nccl.
std::string gpu_memory_problem(const std::vector<TrainerBackend>& choice,
                               std::string_view precision);

}  // namespace dllaunch
