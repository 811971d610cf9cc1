// Which piece of an image the network sees: plain numbers, which kernels read as well.
#pragma once

#include <cstdint>

namespace dllaunch {

/// Pixel (y, x) of what the network sees is the image's (y + down, x + right), or black where that
/// is outside of it. Mirrored: x counts from the right.
struct ImageCut {
  enum class Kind : std::int32_t { absent, upright, mirrored };

  std::int32_t down = 0;
  std::int32_t right = 0;
  Kind kind = Kind::upright;  // absent, all bits zero: no image, and zeros for the network
};

}  // namespace dllaunch
