// How the ranks' GPUs were in each epoch.
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
  std::string pci = {};  // the GPU on which this rank computes; empty: on a CPU
  std::string host = {};
  GpuLibraries libraries = {};
  std::chrono::milliseconds period{1000};
  std::function<void(const std::string& line)> alarm = {};  // as GpuSamplerOptions'
  std::function<StepTimes()> steps = {};  // of this rank since it was asked last; empty: none
};

/// Where no rank computes on a GPU there is no thread, no library is opened, and nothing is
/// gathered. Where one does, a thread of that rank reads its sensors; training pays for one
/// exchange an epoch and waits for no library.
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
  bool any_ = false;  // rank computes on a GPU
  GpuNews news_;
};

}  // namespace dllaunch
