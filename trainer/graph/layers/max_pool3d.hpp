#pragma once

#include "trainer/graph/layers/loops.hpp"
#include "trainer/graph/layers/sliding.hpp"

namespace dllaunch {

/// MaxPool2d over volumes: depth, height, width.
struct MaxPool3d {
  static constexpr std::string_view name = "max_pool3d";
  static constexpr LayerTraits traits{
      .backward_reads_x = false, .backward_reads_y = false, .stores_argmax = true};

  std::array<int, 3> kernel = {2, 2, 2};
  std::array<int, 3> stride = {2, 2, 2};

  static constexpr auto keys() {
    return std::tuple(key("kernel", &MaxPool3d::kernel),
                      key_as("stride", &MaxPool3d::stride, &MaxPool3d::kernel));
  }
};

inline Inferred infer(const MaxPool3d& op, const Shape& x) {
  if (x.size() != 4) return needs_volume(x);
  if (!all_at_least(op.kernel, 1) || !all_at_least(op.stride, 1)) {
    return shape_error("cannot pool with kernel {}, stride {}", {op.kernel, op.stride});
  }
  return slide(x, x[0], {op.kernel, op.stride});
}

namespace reference {

/// Calls visit(y, argmax) for every output, like for_each_argmax() of MaxPool2d.
template <typename Real, typename Visit>
void for_each_argmax(const MaxPool3d& op, const View<Real>& v, const Visit& visit) {
  const Shape& x = v.x_shape;
  const Shape& y = v.y_shape;
  const auto& [depth, height, width] = op.kernel;
  for (std::int64_t output = 0; output < elements_of(y); ++output) {
    const std::int64_t c = output / (y[1] * y[2] * y[3]);
    const std::int64_t front = output / (y[2] * y[3]) % y[1] * op.stride[0];
    const std::int64_t top = output / y[3] % y[2] * op.stride[1];
    const std::int64_t left = output % y[3] * op.stride[2];
    std::int64_t argmax = -1;
    for (int tap = 0; tap < depth * height * width; ++tap) {
      const std::int64_t plane = c * x[1] + front + tap / (height * width);
      const std::int64_t row = plane * x[2] + top + tap / width % height;
      const std::int64_t at = row * x[3] + left + tap % width;
      if (argmax < 0 || v.x[at] > v.x[argmax] || std::isnan(v.x[at])) argmax = at;
    }
    visit(output, argmax);
  }
}

template <typename Real>
void forward(const MaxPool3d& op, const View<Real>& v) {
  for_each_argmax(op, v, [&](std::int64_t y, std::int64_t argmax) { v.y[y] = v.x[argmax]; });
}

template <typename Real>
void backward(const MaxPool3d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for_each_argmax(op, v, [&](std::int64_t y, std::int64_t argmax) { v.dx[argmax] += v.dy[y]; });
}

}  // namespace reference
}  // namespace dllaunch
