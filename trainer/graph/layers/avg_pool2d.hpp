#pragma once

#include "trainer/graph/layers/loops.hpp"
#include "trainer/graph/layers/sliding.hpp"

namespace dllaunch {

struct AvgPool2d {
  static constexpr std::string_view name = "avg_pool2d";
  static constexpr LayerTraits traits = backward_reads_nothing;

  int kernel = 2;
  int stride = 2;

  static constexpr auto keys() {
    return std::tuple(key("kernel", &AvgPool2d::kernel),
                      key_as("stride", &AvgPool2d::stride, &AvgPool2d::kernel));
  }
};

inline Inferred infer(const AvgPool2d& op, const Shape& x) {
  return infer_pool(op.kernel, op.stride, 0, x);
}

namespace reference {

/// Calls visit(y, corner) for every output; `corner` is the index of the window's first input.
template <typename Visit>
void for_each_window(int stride, const Shape& x, const Shape& y, const Visit& visit) {
  std::int64_t output = 0;
  for (std::int64_t c = 0; c < y[0]; ++c) {
    for (std::int64_t i = 0; i < y[1]; ++i) {
      for (std::int64_t j = 0; j < y[2]; ++j, ++output) {
        visit(output, (c * x[1] + i * stride) * x[2] + j * stride);
      }
    }
  }
}

template <typename Real>
void forward(const AvgPool2d& op, const View<Real>& v) {
  const Real area = static_cast<Real>(op.kernel) * static_cast<Real>(op.kernel);
  for_each_window(op.stride, v.x_shape, v.y_shape, [&](std::int64_t y, std::int64_t corner) {
    Real sum = 0;
    for (int r = 0; r < op.kernel; ++r) {
      for (int s = 0; s < op.kernel; ++s) sum += v.x[corner + r * v.x_shape[2] + s];
    }
    v.y[y] = sum / area;
  });
}

template <typename Real>
void backward(const AvgPool2d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  const Real area = static_cast<Real>(op.kernel) * static_cast<Real>(op.kernel);
  for_each_window(op.stride, v.x_shape, v.y_shape, [&](std::int64_t y, std::int64_t corner) {
    const Real share = v.dy[y] / area;
    for (int r = 0; r < op.kernel; ++r) {
      for (int s = 0; s < op.kernel; ++s) v.dx[corner + r * v.x_shape[2] + s] += share;
    }
  });
}

}  // namespace reference
}  // namespace dllaunch
