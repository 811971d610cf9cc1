// Images as their data set has them, and what is still to be done to them: for executables that
// do it themselves.
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

/// What is done to all images of a data set: a byte v of channel c becomes levels[c * 256 + v],
/// then the image is resized along both axes, then cut.
struct ImageRecipe {
  ImageShape from;
  std::vector<float> levels;  // [channels, 256]
  AxisResize rows;            // one for each of what the network sees
  AxisResize columns;

  bool resizes() const {
    return from.height != static_cast<int>(rows.from.size()) ||
           from.width != static_cast<int>(columns.from.size());
  }
};

/// Those of a batch that are present.
struct ByteImages {
  std::span<const std::uint8_t> pixels;  // [count, channels, height, width] of recipe->from
  std::span<const ImageCut> cuts;        // [count], none absent
  std::shared_ptr<const ImageRecipe> recipe;
  std::shared_ptr<const std::byte> memory;  // both spans lie in it
  std::uint64_t number = 0;                 // of no other batch of this process; never 0
};

}  // namespace dllaunch
