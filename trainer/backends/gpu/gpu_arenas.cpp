#include "trainer/backends/gpu/gpu_arenas.hpp"

#include <fmt/format.h>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/device_memory.hpp"
#include "trainer/backends/gpu/optimizer_kernels.hpp"

namespace dllaunch::gpu {

std::shared_ptr<std::byte> GpuArenas::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  if (gpu_allocate(&memory, bytes) != gpu_success) {
    static_cast<void>(gpu_last_error());  // told here, and to nobody else
    std::size_t free = 0;
    std::size_t total = 0;
    check(gpu_memory(free, total), "memory");
    throw OutOfGpuMemory(
        fmt::format("an arena of the parameters needs {} MiB of the GPU, {} MiB are free",
                    (bytes + (1 << 20) - 1) >> 20, free >> 20));
  }
  std::shared_ptr<std::byte> owned(static_cast<std::byte*>(memory),
                                   [](std::byte* at) { static_cast<void>(gpu_free(at)); });
  clear(memory, bytes);
  return owned;
}

void GpuArenas::clear(void* memory, std::size_t bytes) {
  check(gpu_clear_later(memory, bytes, stream_), "clear");
}

void GpuArenas::copy(void* to, const void* from, std::size_t bytes) {
  check(gpu_copy_later(to, from, bytes, stream_), "copy");
  check(gpu_synchronise(stream_), "copy");
}

std::unique_ptr<DeviceOptimizer> GpuArenas::optimizer(const OptimizerEntry& optimizer,
                                                      const OptimizerOptions& options,
                                                      const ArenaLayout& layout,
                                                      const std::vector<bool>& one_dimensional) {
  if (layout.type != DType::f32 || !GpuOptimizer::has(optimizer)) return nullptr;
  return std::make_unique<GpuOptimizer>(optimizer, options, layout, one_dimensional, stream_,
                                        clock_);
}

}  // namespace dllaunch::gpu
