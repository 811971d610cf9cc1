// An epoch's GPUs: how each rank's was used, as an event, as curves and in words. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/gpu/sensors/gpu_use.hpp"
#include "support/json.hpp"
#include "trainer/reports/tensorboard.hpp"

namespace dllaunch {

/// Empty where no rank computes on a GPU, and on all ranks but 0.
struct EpochGpus {
  std::vector<GpuUse> ranks = {};
  std::vector<std::string> hosts = {};  // of each rank
  std::vector<std::string> pci = {};    // the GPU of each rank; empty: it computes on a CPU
  std::vector<std::string> notes = {};  // what people were told about them

  bool empty() const { return ranks.empty(); }
};

/// The fields of a `gpus` event behind `epoch` (docs/gpu-telemetry.md): quantiles over ranks and
/// the eight worst, however many there are.
Json gpu_fields(const EpochGpus& gpus);

/// gpu/utilisation, gpu/memory_GiB, gpu/power_W, gpu/sm_clock_MHz, gpu/throttled: those that are
/// known.
std::vector<Scalar> gpu_scalars(const EpochGpus& gpus);

/// What people should hear about an epoch, each kind once in a training.
class GpuNews {
 public:
  /// `own_trouble`: why this rank's GPU tells nothing; empty: it does.
  std::vector<std::string> of(std::int64_t epoch, const EpochGpus& gpus,
                              const std::string& own_trouble);

 private:
  bool told_slowed_ = false;
  bool told_silent_ = false;
};

}  // namespace dllaunch
