// Images on their way to the GPU, while it still computes the step before.
#pragma once

#include <cstddef>
#include <span>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/device_memory.hpp"

namespace dllaunch::gpu {

class ImageTransfer {
 public:
  /// Room for `elements` in `memory`, its own all the time; `memory` outlives this.
  ImageTransfer(std::size_t elements, DeviceMemory& memory);
  ~ImageTransfer();
  ImageTransfer(const ImageTransfer&) = delete;
  ImageTransfer& operator=(const ImageTransfer&) = delete;

  /// Once the memory is there.
  void start();

  /// Sends images, zeros behind them; they must stay until what comes after receive() has been
  /// waited for. On a stream of its own: only the latest release() comes before it.
  void send(std::span<const float> images);
  /// What `stream` is given from now on finds them here.
  const float* receive(GpuStream stream);
  /// What `stream` has been given so far was the last to read them.
  void release(GpuStream stream);

 private:
  std::size_t elements_;
  DeviceMemory& memory_;
  int images_;
  GpuStream copies_ = nullptr;
  GpuEvent sent_ = nullptr;
  GpuEvent released_ = nullptr;
};

}  // namespace dllaunch::gpu
