// GPU usage in an epoch, as an event, as TensorBoard scalars and as warnings. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/gpu/sensors/gpu_use.hpp"
#include "support/json.hpp"
#include "trainer/reports/tensorboard.hpp"

namespace dllaunch {

/// Empty without GPUs, and on all ranks but 0.
struct EpochGpus {
  std::vector<GpuUse> ranks = {};
  std::vector<std::string> hosts = {};  // of every rank
  std::vector<std::string> pci = {};    // GPU address of every rank; empty: computes on a CPU
  std::vector<std::string> notes = {};  // warnings logged about them

  bool empty() const { return ranks.empty(); }
};

/// Returns the fields of a `gpus` event after `epoch` (docs/how-to/gpu-telemetry.md): quantiles
/// over ranks and at most eight of the worst ranks.
Json gpu_fields(const EpochGpus& gpus);

/// Returns those that are known of gpu/utilisation, gpu/memory_GiB, gpu/power_W, gpu/sm_clock_MHz
/// and gpu/throttled.
std::vector<Scalar> gpu_scalars(const EpochGpus& gpus);

/// Warnings about an epoch's GPUs. Each kind is reported once per training.
class GpuNews {
 public:
  /// `own_trouble`: why this rank's sensors cannot be read; empty if they can.
  std::vector<std::string> of(std::int64_t epoch, const EpochGpus& gpus,
                              const std::string& own_trouble);

 private:
  bool told_slowed_ = false;
  bool told_silent_ = false;
};

}  // namespace dllaunch
