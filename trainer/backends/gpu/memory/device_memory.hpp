// Memory of the GPU in one piece, given out by a plan.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/memory_plan.hpp"

namespace dllaunch::gpu {

/// What the GPU would have to have, and what would fit instead.
class OutOfGpuMemory : public std::bad_alloc {
 public:
  explicit OutOfGpuMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// What does not grow with the batch is small: weights lie in the arenas.
inline std::string too_much_memory(int batch, std::size_t bytes, std::size_t free) {
  const auto gib = [](std::size_t of) { return static_cast<double>(of) / (1 << 30); };
  std::string text = fmt::format("batch_size {} needs {:.2f} GiB of the GPU, {:.2f} GiB are free",
                                 batch, gib(bytes), gib(free));
  const double fit = batch * gib(free) / gib(bytes);
  if (fit >= 1 && fit < batch) {
    text += fmt::format("; about {} images would fit", static_cast<int>(fit));
  }
  return text;
}

/// Arrays are named by numbers, and have their places once all are known.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { static_cast<void>(gpu_free(memory_)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// In use from step `first` to step `last`; the whole time unless told otherwise.
  int add(std::size_t bytes, int first = 0, int last = always) {
    // Libraries take their fastest way where arrays begin at multiples of 256 bytes.
    pieces_.push_back({(bytes + 255) / 256 * 256, first, last});
    bytes_.push_back(bytes);
    return static_cast<int>(pieces_.size()) - 1;
  }
  /// Bytes of all, once they are placed.
  std::size_t place() {
    plan_ = plan_memory(pieces_);
    return plan_.bytes;
  }
  GpuStatus allocate() {
    if (plan_.bytes == 0) return gpu_success;
    const GpuStatus status = gpu_allocate(&memory_, plan_.bytes);
    // Whoever asked is told, and nobody later.
    if (status != gpu_success) static_cast<void>(gpu_last_error());
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
  std::vector<std::size_t> bytes_;  // as asked for
  MemoryPlan plan_;
  void* memory_ = nullptr;
};

}  // namespace dllaunch::gpu
