// Parameter arenas in GPU memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "gpu_api.hpp"
#include "trainer/backends/device_arenas.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/update/step_clock.hpp"

namespace dllaunch::gpu {

/// Arenas on the thread's current device. All work is in the order of `stream`.
class GpuArenas final : public DeviceArenas {
 public:
  /// Reports updates to `clock`, which must outlive it.
  GpuArenas(GpuStream stream, StepClock& clock) : stream_(stream), clock_(clock) {}

  /// Sets how much memory activations take for this batch size: an OutOfGpuMemory then suggests a
  /// batch size that would fit.
  void set_activation_memory(int batch, std::size_t bytes) {
    batch_ = batch;
    activation_bytes_ = bytes;
  }

  /// Throws OutOfGpuMemory.
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  void refuse(std::size_t bytes) const override;
  /// The same for device copies of all arenas that a step uses.
  [[noreturn]] void refuse_copies(std::size_t bytes) const;
  std::size_t free_bytes() const override;
  void clear(void* memory, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<DeviceOptimizer> optimizer(const OptimizerEntry& optimizer,
                                             const OptimizerOptions& options,
                                             const ArenaLayout& layout,
                                             const std::vector<bool>& one_dimensional) override;

 private:
  std::string what_would_fit(double to_come, std::size_t free) const;
  OutOfGpuMemory refusal(std::string_view what, std::size_t bytes, double to_come) const;

  GpuStream stream_;
  StepClock& clock_;
  int batch_ = 0;
  std::size_t activation_bytes_ = 0;  // bytes
  int arenas_allocated_ = 0;          // arenas
};

}  // namespace dllaunch::gpu
