// What the built-in trainer of this build can do, so that what it cannot is told before a job waits
// in a queue, and its ranks go beside GPUs that it drives.
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
  bool gpu_memory = false;                   // its parameters may lie there
};

/// Of what `dltrain --describe` prints; none where it says nothing of them.
std::vector<TrainerBackend> trainer_backends(const Json& train_schema);

/// Those of this build.
const std::vector<TrainerBackend>& trainer_backends();

/// Those that a job leaves to choose from: with train.backend and resources.device as given, each
/// of which may be auto.
std::vector<TrainerBackend> backends_for(const std::vector<TrainerBackend>& all,
                                         std::string_view backend, std::string_view device);

/// The kinds of GPU among their devices, each once: {"cuda"}.
std::vector<std::string> gpu_devices(const std::vector<TrainerBackend>& backends);

/// Whether one of these devices drives GPUs of the node: some are of its vendor, or nobody knows of
/// which they are.
bool drives_gpus_of(const Topology& node, const std::vector<std::string>& devices);

/// Why none of them computes so; empty: one does, or there is none to ask.
std::string precision_problem(const std::vector<TrainerBackend>& choice,
                              std::string_view precision);
/// The same of runtime.allreduce: nccl.
std::string gpu_memory_problem(const std::vector<TrainerBackend>& choice,
                               std::string_view precision);

}  // namespace dllaunch
