// Bilinear interpolation along an axis: half-pixel centres, no antialiasing.
#pragma once

#include <vector>

namespace dllaunch {

/// Where output pixel i of an axis comes from: from[i] and from[i] + step[i], with `weight` of the
/// latter. The same as PyTorch's interpolate(mode="bilinear", align_corners=False).
struct AxisResize {
  std::vector<int> from;
  std::vector<int> step;  // 0 at the edge, else 1
  std::vector<float> weight;
};
AxisResize resize_axis(int from_pixels, int to_pixels);

}  // namespace dllaunch
