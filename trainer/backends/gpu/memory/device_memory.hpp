// One allocation of GPU memory, divided among arrays by a memory plan.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/memory_plan.hpp"

namespace dllaunch::gpu {

/// what() says how much memory is needed, how much is free, and what would fit.
class OutOfGpuMemory : public std::bad_alloc {
 public:
  explicit OutOfGpuMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Returns the message for a batch that does not fit. Assumes that memory grows with the batch,
/// since weights are in the arenas.
inline std::string too_much_memory(int batch, std::size_t bytes, std::size_t free) {
  const auto gib = [](std::size_t of) { return static_cast<double>(of) / (1 << 30); };
  std::string text =
      fmt::format("batch_size {} needs {:.2f} GiB of GPU memory, {:.2f} GiB are free", batch,
                  gib(bytes), gib(free));
  const double fit = batch * gib(free) / gib(bytes);
  if (fit >= 1 && fit < batch) {
    text += fmt::format("; about {} images would fit", static_cast<int>(fit));
  }
  return text;
}

/// Call add() for every array, then place(), then allocate(). Arrays are identified by index.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { static_cast<void>(gpu_free(memory_)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Adds an array that is in use from step `first` to step `last`, by default always. Returns its
  /// index.
  int add(std::size_t bytes, int first = 0, int last = always) {
    // Vendor libraries are fastest with arrays aligned to 256 bytes.
    pieces_.push_back({(bytes + 255) / 256 * 256, first, last});
    bytes_.push_back(bytes);
    return static_cast<int>(pieces_.size()) - 1;
  }
  /// Assigns the arrays' offsets. Returns the total size in bytes.
  std::size_t place() {
    plan_ = plan_memory(pieces_);
    return plan_.bytes;
  }
  GpuStatus allocate() {
    if (plan_.bytes == 0) return gpu_success;
    const GpuStatus status = gpu_allocate(&memory_, plan_.bytes);
    // Clear the error: it is returned here.
    if (status != gpu_success) gpu_clear_error();
    return status;
  }
  template <typename T>
  T* at(int piece) const {
    if (piece < 0) return nullptr;
    auto* const first = static_cast<std::byte*>(memory_);
    return reinterpret_cast<T*>(first + plan_.offsets[static_cast<std::size_t>(piece)]);
  }
  bool empty() const { return pieces_.empty(); }
  std::size_t bytes(int piece) const { return bytes_[static_cast<std::size_t>(piece)]; }

 private:
  static constexpr int always = 1 << 30;

  std::vector<Lifetime> pieces_;
  std::vector<std::size_t> bytes_;  // as requested
  MemoryPlan plan_;
  void* memory_ = nullptr;
};

/// Returns the bytes of this thread's GPU that are free.
inline std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(gpu_memory(free, total), "memory");
  return free;
}

/// Places the arrays of a batch and returns their bytes. Throws OutOfGpuMemory if too few are free.
inline std::size_t place_batch(DeviceMemory& memory, int batch) {
  const std::size_t bytes = memory.place();
  const std::size_t free = free_bytes();
  if (bytes > free) throw OutOfGpuMemory(too_much_memory(batch, bytes, free));
  return bytes;
}

}  // namespace dllaunch::gpu
