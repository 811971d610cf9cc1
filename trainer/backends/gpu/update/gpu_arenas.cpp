#include "trainer/backends/gpu/update/gpu_arenas.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/update/optimizer_kernels.hpp"

namespace dllaunch::gpu {

/// `to_come`: bytes that must fit beside the activations.
std::string GpuArenas::what_would_fit(double to_come, std::size_t free) const {
  if (activation_bytes_ == 0) return {};
  const auto beside = static_cast<double>(activation_bytes_);
  const double fit = batch_ * (beside + static_cast<double>(free) - to_come) / beside;
  const std::string images =
      fit < 1 ? "" : fmt::format("; about {} would fit", static_cast<int>(fit));
  return fmt::format(" beside batches of {} images{}", batch_, images);
}

OutOfGpuMemory GpuArenas::refusal(std::string_view what, std::size_t bytes, double to_come) const {
  const std::size_t free = free_bytes();
  return OutOfGpuMemory(fmt::format("{} needs {} MiB of GPU memory, {} MiB are free{}", what,
                                    (bytes + (1 << 20) - 1) >> 20, free >> 20,
                                    what_would_fit(to_come, free)));
}

/// Assumes arenas for weights, gradients and two optimiser states; few optimisers have more.
void GpuArenas::refuse(std::size_t bytes) const {
  constexpr int usual = 4;
  throw refusal("a parameter arena", bytes,
                static_cast<double>(bytes) * std::max(usual - arenas_allocated_, 1));
}

void GpuArenas::refuse_copies(std::size_t bytes) const {
  throw refusal("a copy of the parameters", bytes, static_cast<double>(bytes));
}

std::size_t GpuArenas::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(gpu_memory(free, total), "memory");
  return free;
}

std::shared_ptr<std::byte> GpuArenas::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  if (gpu_allocate(&memory, bytes) != gpu_success) {
    gpu_clear_error();  // it is reported here
    refuse(bytes);
  }
  ++arenas_allocated_;
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
