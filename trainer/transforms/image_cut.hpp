// The crop of one image, as plain numbers that kernels can read.
#pragma once

#include <cstdint>

namespace dllaunch {

/// Output pixel (y, x) is input pixel (y + down, x + right), or black outside the image. If
/// mirrored, x counts from the right.
struct ImageCut {
  enum class Kind : std::int32_t { absent, upright, mirrored };

  std::int32_t down = 0;
  std::int32_t right = 0;
  Kind kind = Kind::upright;  // absent (all bits zero): no image; the output is zero
};

}  // namespace dllaunch
