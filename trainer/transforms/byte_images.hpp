// Image transforms as plain values: crop, flip, resize, normalisation. CPU and GPU code apply them.
// Knows nothing about data sets, random choices or devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/graph/graph.hpp"
#include "trainer/transforms/bilinear.hpp"
#include "trainer/transforms/image_cut.hpp"

namespace dllaunch {

/// The transform of every image of a data set: byte v of channel c becomes levels[c * 256 + v],
/// then the image is resized along both axes, then cropped.
struct ImageRecipe {
  ImageShape from;
  std::vector<float> levels;  // [channels, 256]
  AxisResize rows;            // one entry per output pixel
  AxisResize columns;

  bool resizes() const {
    return from.height != static_cast<int>(rows.from.size()) ||
           from.width != static_cast<int>(columns.from.size());
  }
};

/// The undecoded images of a batch; absent images are left out.
struct ByteImages {
  std::span<const std::uint8_t> pixels;  // [count, channels, height, width] of recipe->from
  std::span<const ImageCut> cuts;        // [count], none absent
  std::shared_ptr<const ImageRecipe> recipe;
  std::shared_ptr<const std::byte> memory;  // owns the memory of both spans
  std::uint64_t number = 0;                 // unique within this process; never 0
};

}  // namespace dllaunch
