// Shapes of layers that slide a window over an image or a volume.
#pragma once

#include <algorithm>
#include <array>

#include "trainer/graph/layers/layer.hpp"

namespace dllaunch {

inline bool all_at_least(const std::array<int, 3>& extents, int least) {
  return std::ranges::all_of(extents, [least](int extent) { return extent >= least; });
}

/// A window over a volume: depth, height, width.
struct VolumeWindow {
  std::array<int, 3> kernel;
  std::array<int, 3> stride;
  std::array<int, 3> padding = {0, 0, 0};
};

/// [channels] and the output's depth, height and width, or what they would need.
inline Inferred slide(const Shape& x, std::int64_t channels, const VolumeWindow& window) {
  Inferred inferred = only({channels});
  std::array<int, 3> needed{};
  bool fits = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int kernel = window.kernel[axis];
    const int padding = window.padding[axis];
    needed[axis] = std::max(kernel - 2 * padding, 1);
    fits = fits && x[axis + 1] >= needed[axis];
    inferred.shape.push_back(windows(x[axis + 1], kernel, window.stride[axis], padding));
  }
  if (fits) return inferred;
  return refuse("needs at least {} elements (depth, height, width), got {}", {needed, x});
}

/// The same over an image: height and width.
inline Inferred slide(const Shape& x, std::int64_t channels, int kernel, int stride, int padding) {
  const int needed = std::max(kernel - 2 * padding, 1);
  if (x[1] < needed || x[2] < needed) {
    return refuse("needs at least {}x{} pixels, got {}", {needed, needed, x});
  }
  return only(
      {channels, windows(x[1], kernel, stride, padding), windows(x[2], kernel, stride, padding)});
}

/// Of a pooling of images.
inline Inferred infer_pool(int kernel, int stride, int padding, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (kernel < 1 || stride < 1 || padding < 0 || 2 * padding > kernel) {
    return refuse("cannot pool with kernel {}, stride {}, padding {}", {kernel, stride, padding});
  }
  return slide(x, x[0], kernel, stride, padding);
}

}  // namespace dllaunch
