// The input of the network: a batch's images on the GPU, channels last.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/backends/gpu/kernels/image_functors.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/memory/image_transfer.hpp"
#include "trainer/transforms/byte_images.hpp"

namespace dllaunch::gpu {

/// Accepts prepared images as floats, or bytes that a kernel prepares. Holds one batch, whose
/// buffer is free again once it is unpacked, at the beginning of a step.
class ImageInput {
 public:
  /// `shape`: of a full batch. Reserves its arrays in `memory`, which must outlive it.
  ImageInput(const Volume& shape, DeviceMemory& memory);

  /// Call once after the memory is allocated.
  void start() { transfer_.start(); }

  /// Whether byte images of this recipe are supported: the shape matches, and the bytes are no more
  /// than the prepared floats.
  bool supports(const ImageRecipe& recipe) const;

  /// Sends a batch's images, unless they were prefetched.
  void send(const Batch& batch);
  /// Sends the next batch's images, if known. Call after unpack(): they overwrite the current ones.
  void prefetch(const Batch& batch);
  /// Makes `stream` wait for the images sent last.
  void wait(GpuStream stream) { transfer_.receive(stream); }
  /// Writes the images sent last to `to`, in stream order; absent ones are zeros. `exact`: where
  /// the floats sent are kept as they are; nullptr: nowhere.
  template <typename T>
  void unpack(GpuStream stream, T* to, float* exact = nullptr);

 private:
  void send_floats(const Batch& batch);
  void send_bytes(const ByteImages& bytes);
  void send_recipe(std::shared_ptr<const ImageRecipe> recipe);

  Volume shape_;
  DeviceMemory& memory_;
  int images_;  // float [batch, c, h, w], or bytes
  int cuts_;    // ImageCut [batch]
  int levels_;  // float [c, 256]
  int lines_;   // AxisPoint [h]
  int columns_;
  ByteImages sent_;  // number 0: sent floats, or nothing yet
  bool prefetched_ = false;
  std::shared_ptr<const ImageRecipe> recipe_;  // in GPU memory
  std::vector<AxisPoint> line_points_;         // of the recipe
  std::vector<AxisPoint> column_points_;
  ImageTransfer transfer_;  // destroyed first: copies may still read the others
};

}  // namespace dllaunch::gpu
