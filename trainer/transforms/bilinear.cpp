#include "trainer/transforms/bilinear.hpp"

#include <algorithm>

namespace dllaunch {

AxisResize resize_axis(int from_pixels, int to_pixels) {
  AxisResize axis;
  const double scale = static_cast<double>(from_pixels) / to_pixels;
  for (int i = 0; i < to_pixels; ++i) {
    const double at = std::max(0.0, (i + 0.5) * scale - 0.5);
    const int first = std::min(static_cast<int>(at), from_pixels - 1);
    axis.from.push_back(first);
    axis.step.push_back(first + 1 < from_pixels ? 1 : 0);
    axis.weight.push_back(static_cast<float>(at - first));
  }
  return axis;
}

}  // namespace dllaunch
