// Arenas in memory of a GPU.
#pragma once

#include <memory>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/step_clock.hpp"
#include "trainer/device_arenas.hpp"

namespace dllaunch::gpu {

/// Of the device that is the thread's own. Everything is in the order of `stream`.
class GpuArenas final : public DeviceArenas {
 public:
  /// `clock`, which outlives it, hears of updates.
  GpuArenas(GpuStream stream, StepClock& clock) : stream_(stream), clock_(clock) {}

  /// OutOfGpuMemory.
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  void clear(void* memory, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<DeviceOptimizer> optimizer(const OptimizerEntry& optimizer,
                                             const OptimizerOptions& options,
                                             const ArenaLayout& layout,
                                             const std::vector<bool>& one_dimensional) override;

 private:
  GpuStream stream_;
  StepClock& clock_;
};

}  // namespace dllaunch::gpu
