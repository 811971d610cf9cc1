// One optimiser step over arenas on a GPU. The trainer's arenas lie on the host yet: nobody but the
// tests calls it.
#pragma once

#include <span>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/device_memory.hpp"
#include "trainer/backends/gpu/optimizer_bodies.hpp"
#include "trainer/optimizer.hpp"

namespace dllaunch::gpu {

/// All trained parameters, one behind the other, and what optimisers that look at whole parameters
/// need beside the arenas.
class GpuOptimizer {
 public:
  /// elements[slot], one_dimensional[slot]. Allocates: OutOfGpuMemory.
  GpuOptimizer(const OptimizerEntry& optimizer, const OptimizerOptions& options,
               std::span<const std::size_t> elements, const std::vector<bool>& one_dimensional);

  /// nullptr, or the same optimiser's name of which there are no kernels.
  static bool has(const OptimizerEntry& optimizer);

  /// states in the order of OptimizerEntry::states. Enqueues; only LARS and LAMB wait, for norms.
  void step(GpuStream stream, const StepInfo& now, float* weights, float* gradients,
            std::span<float* const> states);

 private:
  void step_with_norms(GpuStream stream, const StepInfo& now, const ArenaElements& of);
  std::vector<double> norms(GpuStream stream, const ArenaElements& of);
  void send(GpuStream stream, int piece, std::span<const float> values) const;

  const OptimizerEntry& optimizer_;
  OptimizerOptions options_;
  std::vector<bool> one_dimensional_;
  std::int64_t elements_ = 0;
  DeviceMemory memory_;
  int offsets_ = -1;
  int factors_ = -1;
  int decays_ = -1;
  int sums_ = -1;
  int norms_ = -1;
};

}  // namespace dllaunch::gpu
