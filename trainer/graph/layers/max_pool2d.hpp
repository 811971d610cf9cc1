#pragma once

#include "trainer/graph/layers/loops.hpp"
#include "trainer/graph/layers/sliding.hpp"

namespace dllaunch {

/// Windows that would cross the lower or right edge are dropped, as in PyTorch with
/// ceil_mode=False.
struct MaxPool2d {
  static constexpr std::string_view name = "max_pool2d";
  static constexpr LayerTraits traits{
      .backward_reads_x = false, .backward_reads_y = false, .stores_argmax = true};

  int kernel = 2;
  int stride = 2;
  int padding = 0;  // pixels, all sides, of value -infinity; at most half the kernel

  static constexpr auto keys() {
    return std::tuple(key("kernel", &MaxPool2d::kernel),
                      key_as("stride", &MaxPool2d::stride, &MaxPool2d::kernel),
                      key("padding", &MaxPool2d::padding));
  }
};

inline Inferred infer(const MaxPool2d& op, const Shape& x) {
  return infer_pool(op.kernel, op.stride, op.padding, x);
}

namespace reference {

/// Calls visit(y, argmax) for every output: `argmax` is the index of the window's largest input,
/// the first of equals, or the last NaN.
template <typename Real, typename Visit>
void for_each_argmax(const MaxPool2d& op, const View<Real>& v, const Visit& visit) {
  const Shape& x = v.x_shape;
  std::int64_t output = 0;
  for (std::int64_t c = 0; c < v.y_shape[0]; ++c) {
    for (std::int64_t i = 0; i < v.y_shape[1]; ++i) {
      for (std::int64_t j = 0; j < v.y_shape[2]; ++j, ++output) {
        const std::int64_t top = i * op.stride - op.padding;
        const std::int64_t left = j * op.stride - op.padding;
        std::int64_t argmax = -1;
        for (std::int64_t h = std::max(top, std::int64_t{0}); h < std::min(top + op.kernel, x[1]);
             ++h) {
          for (std::int64_t w = std::max(left, std::int64_t{0});
               w < std::min(left + op.kernel, x[2]); ++w) {
            const std::int64_t at = (c * x[1] + h) * x[2] + w;
            if (argmax < 0 || v.x[at] > v.x[argmax] || std::isnan(v.x[at])) argmax = at;
          }
        }
        visit(output, argmax);
      }
    }
  }
}

template <typename Real>
void forward(const MaxPool2d& op, const View<Real>& v) {
  for_each_argmax(op, v, [&](std::int64_t y, std::int64_t argmax) { v.y[y] = v.x[argmax]; });
}

template <typename Real>
void backward(const MaxPool2d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for_each_argmax(op, v, [&](std::int64_t y, std::int64_t argmax) { v.dx[argmax] += v.dy[y]; });
}

}  // namespace reference
}  // namespace dllaunch
