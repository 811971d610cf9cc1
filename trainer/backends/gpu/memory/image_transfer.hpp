// Copies to the GPU that overlap with computation: on their own stream, into arrays read by kernels
// of another stream.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {

class ImageTransfer {
 public:
  /// `memory` must outlive it.
  explicit ImageTransfer(DeviceMemory& memory) : memory_(memory) {}
  ~ImageTransfer();
  ImageTransfer(const ImageTransfer&) = delete;
  ImageTransfer& operator=(const ImageTransfer&) = delete;

  /// Call once after the memory is allocated.
  void start();

  struct Part {
    int to = -1;  // index into the memory
    std::span<const std::byte> from = {};
    std::size_t bytes = 0;  // pads `from` with zeros to this size
  };
  /// Starts copies, ordered only after the latest release() and earlier copies. The sources must
  /// stay valid until wait(), or until work enqueued after receive() has finished.
  void send(std::initializer_list<Part> parts);
  /// Makes following work on `stream` wait for all copies.
  void receive(GpuStream stream);
  /// Lets following copies overwrite the arrays once the work enqueued on `stream` so far is done.
  void release(GpuStream stream);
  /// Blocks until all copies are done.
  void wait();

 private:
  DeviceMemory& memory_;
  GpuStream copies_ = nullptr;
  GpuEvent sent_ = nullptr;
  GpuEvent released_ = nullptr;
};

}  // namespace dllaunch::gpu
