// Copies to the GPU while it still computes: on a stream of their own, into arrays that kernels of
// another stream read.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {

class ImageTransfer {
 public:
  /// `memory` outlives this.
  explicit ImageTransfer(DeviceMemory& memory) : memory_(memory) {}
  ~ImageTransfer();
  ImageTransfer(const ImageTransfer&) = delete;
  ImageTransfer& operator=(const ImageTransfer&) = delete;

  /// Once the memory is there.
  void start();

  struct Part {
    int to = -1;  // a piece of the memory
    std::span<const std::byte> from = {};
    std::size_t bytes = 0;  // zeros behind `from`, up to so many
  };
  /// What is sent must stay until what comes after receive(), or wait(), has been waited for. Only
  /// the latest release() and what was sent earlier come before it.
  void send(std::initializer_list<Part> parts);
  /// What `stream` is given from now on finds all that was sent.
  void receive(GpuStream stream);
  /// What `stream` has been given so far was the last to read it.
  void release(GpuStream stream);
  /// Until all that was sent is there.
  void wait();

 private:
  DeviceMemory& memory_;
  GpuStream copies_ = nullptr;
  GpuEvent sent_ = nullptr;
  GpuEvent released_ = nullptr;
};

}  // namespace dllaunch::gpu
