// Samples the GPUs of all ranks during each epoch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/communicators/communicator.hpp"
#include "runtime/gpu/sensors/gpu_sampler.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/reports/epoch_gpus.hpp"

namespace dllaunch {

struct GpuWatchOptions {
  std::string pci = {};  // GPU of this rank; empty: computes on a CPU
  std::string host = {};
  GpuLibraries libraries = {};
  std::chrono::milliseconds period{1000};
  std::function<void(const std::string& line)> alarm = {};  // as in GpuSamplerOptions
  std::function<StepTimes()> steps = {};  // step times of this rank since the previous call; empty:
                                          // none
};

/// Does nothing if no rank uses a GPU. Otherwise a thread of each rank with a GPU reads its
/// sensors; training does one exchange per epoch and never waits for the sensor library.
class GpuWatch {
 public:
  /// Collective.
  GpuWatch(Communicator& communicator, GpuWatchOptions options);

  void begin_epoch();
  /// Collective. `epoch` is 1-based.
  EpochGpus end_epoch(std::int64_t epoch);

 private:
  Communicator& communicator_;
  std::function<StepTimes()> steps_;
  std::optional<GpuSampler> sampler_;
  EpochGpus names_;   // hosts and addresses, on rank 0
  bool any_ = false;  // some rank computes on a GPU
  GpuNews news_;
};

}  // namespace dllaunch
