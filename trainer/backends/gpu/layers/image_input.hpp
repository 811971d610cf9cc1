// What the network sees: a batch's images on the GPU, channels last.
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

/// Images come prepared, as floats, or as bytes that a kernel prepares. There is room for one batch
/// of them: it is free again as soon as they are unpacked, at the beginning of a step.
class ImageInput {
 public:
  /// `shape` of a whole batch; room is made in `memory`, which outlives this.
  ImageInput(const Volume& shape, DeviceMemory& memory);

  /// Once the memory is there.
  void start() { transfer_.start(); }

  /// Bytes of this shape, unless they are more than the floats that CPUs would make of them.
  bool takes(const ImageRecipe& recipe) const;

  /// Sends a batch's images, if they are not on their way.
  void send(const Batch& batch);
  /// Sends those that come next, if they are known. After unpack(): they take the place of these.
  void send_ahead(const Batch& batch);
  /// `stream` does nothing until the images sent last are there.
  void wait(GpuStream stream) { transfer_.receive(stream); }
  /// The images sent last, as `stream` finds them from now on; absent ones are zeros.
  template <typename T>
  void unpack(GpuStream stream, T* to);

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
  ByteImages sent_;  // number 0: floats were, or nothing
  bool ahead_ = false;
  std::shared_ptr<const ImageRecipe> recipe_;  // that the GPU has
  std::vector<AxisPoint> line_points_;         // of it
  std::vector<AxisPoint> column_points_;
  ImageTransfer transfer_;  // ends first: it may still read the others
};

}  // namespace dllaunch::gpu
