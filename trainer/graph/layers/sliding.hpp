// Shape inference for layers that slide a window over an image or volume.
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

/// Returns [channels, depth, height, width] of the output, or a problem.
inline Inferred slide(const Shape& x, std::int64_t channels, const VolumeWindow& window) {
  Inferred inferred = shape_only({channels});
  std::array<int, 3> needed{};
  bool fits = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int kernel = window.kernel[axis];
    const int padding = window.padding[axis];
    needed[axis] = std::max(kernel - 2 * padding, 1);
    fits = fits && x[axis + 1] >= needed[axis];
    inferred.shape.push_back(output_extent(x[axis + 1], kernel, window.stride[axis], padding));
  }
  if (fits) return inferred;
  return shape_error("needs at least {} elements (depth, height, width), got {}", {needed, x});
}

/// The same for an image: [channels, height, width].
inline Inferred slide(const Shape& x, std::int64_t channels, int kernel, int stride, int padding) {
  const int needed = std::max(kernel - 2 * padding, 1);
  if (x[1] < needed || x[2] < needed) {
    return shape_error("needs at least {}x{} pixels, got {}", {needed, needed, x});
  }
  return shape_only({channels, output_extent(x[1], kernel, stride, padding),
                     output_extent(x[2], kernel, stride, padding)});
}

/// Shape inference for pooling of images.
inline Inferred infer_pool(int kernel, int stride, int padding, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (kernel < 1 || stride < 1 || padding < 0 || 2 * padding > kernel) {
    return shape_error("cannot pool with kernel {}, stride {}, padding {}",
                       {kernel, stride, padding});
  }
  return slide(x, x[0], kernel, stride, padding);
}

}  // namespace dllaunch
