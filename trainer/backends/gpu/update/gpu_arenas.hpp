// Arenas in memory of a GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gpu_api.hpp"
#include "trainer/backends/device_arenas.hpp"
#include "trainer/backends/gpu/update/step_clock.hpp"

namespace dllaunch::gpu {

/// Of the device that is the thread's own. Everything is in the order of `stream`.
class GpuArenas final : public DeviceArenas {
 public:
  /// `clock`, which outlives it, hears of updates.
  GpuArenas(GpuStream stream, StepClock& clock) : stream_(stream), clock_(clock) {}

  /// So many bytes were taken for batches of so many images: whom they leave no room for arenas is
  /// told which batch would.
  void lie_beside(int batch, std::size_t bytes) {
    batch_ = batch;
    beside_ = bytes;
  }

  /// OutOfGpuMemory.
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  void clear(void* memory, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<DeviceOptimizer> optimizer(const OptimizerEntry& optimizer,
                                             const OptimizerOptions& options,
                                             const ArenaLayout& layout,
                                             const std::vector<bool>& one_dimensional) override;

 private:
  std::string what_would_fit(std::size_t bytes, std::size_t free) const;

  GpuStream stream_;
  StepClock& clock_;
  int batch_ = 0;
  std::size_t beside_ = 0;  // bytes
  int given_ = 0;           // arenas
};

}  // namespace dllaunch::gpu
