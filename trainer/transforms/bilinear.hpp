// Bilinear interpolation along an axis: half-pixel centres, no antialiasing.
#pragma once

#include <vector>

namespace dllaunch {

/// Bilinear resampling along one axis: output pixel i is a mix of input pixels from[i] and from[i]
/// + step[i], the latter with `weight`[i]. Equals PyTorch's interpolate(mode="bilinear",
/// align_corners=False).
struct AxisResize {
  std::vector<int> from;
  std::vector<int> step;  // 0 at the edge, else 1
  std::vector<float> weight;
};
AxisResize resize_axis(int from_pixels, int to_pixels);

}  // namespace dllaunch
