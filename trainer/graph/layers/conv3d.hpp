#pragma once

#include "trainer/graph/layers/loops.hpp"
#include "trainer/graph/layers/sliding.hpp"

namespace dllaunch {

/// Conv2d over volumes: depth, height, width.
/// Parameters: weight [channels, c, kernel...], bias [channels].
struct Conv3d {
  static constexpr std::string_view name = "conv3d";
  static constexpr LayerTraits traits{.weighted = true, .backward_reads_y = false};

  int channels = 0;
  std::array<int, 3> kernel = {1, 1, 1};
  std::array<int, 3> stride = {1, 1, 1};
  std::array<int, 3> padding = {0, 0, 0};  // both sides, zeros
  bool bias = true;
  Initial initial = Initial::glorot_uniform;

  static constexpr auto keys() {
    return std::tuple(needed_key("channels", &Conv3d::channels),
                      needed_key("kernel", &Conv3d::kernel), key("stride", &Conv3d::stride),
                      key("padding", &Conv3d::padding), key("bias", &Conv3d::bias));
  }
};

inline Inferred infer(const Conv3d& op, const Shape& x) {
  if (x.size() != 4) return needs_volume(x);
  bool padded = all_at_least(op.padding, 0);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    padded = padded && op.padding[axis] < op.kernel[axis];
  }
  if (op.channels < 1 || !all_at_least(op.kernel, 1) || !all_at_least(op.stride, 1) || !padded) {
    return shape_error("cannot be a convolution of {} channels, kernel {}, stride {}, padding {}",
                       {op.channels, op.kernel, op.stride, op.padding});
  }
  Inferred inferred = slide(x, op.channels, {op.kernel, op.stride, op.padding});
  const Shape weight{op.channels, x[0], op.kernel[0], op.kernel[1], op.kernel[2]};
  if (inferred.problem.empty()) inferred.parameters = weight_and_bias(weight, op.bias, op.initial);
  return inferred;
}

namespace reference {

/// Calls visit(w, y_row, x_row, columns) for every weight w[k,c,q,r,s] and every output row it
/// touches, like for_each_tap() of Conv2d.
template <typename Visit>
void for_each_tap(const Conv3d& op, const Shape& x, const Shape& y, const Visit& visit) {
  const auto& [depth, height, width] = op.kernel;
  const auto inside = [&](std::size_t axis, int tap) {
    return ValidOutputs(y[axis + 1], x[axis + 1], op.stride[axis], tap - op.padding[axis]);
  };
  const auto read = [&](std::size_t axis, std::int64_t output, int tap) {
    return output * op.stride[axis] + tap - op.padding[axis];
  };
  std::int64_t w = 0;
  for (std::int64_t k = 0; k < y[0]; ++k) {
    for (std::int64_t c = 0; c < x[0]; ++c) {
      for (int tap = 0; tap < depth * height * width; ++tap, ++w) {
        const int q = tap / (height * width);
        const int r = tap / width % height;
        const int s = tap % width;
        const ValidOutputs planes = inside(0, q);
        const ValidOutputs rows = inside(1, r);
        for (std::int64_t p = planes.first; p < planes.end; ++p) {
          for (std::int64_t i = rows.first; i < rows.end; ++i) {
            const std::int64_t plane = c * x[1] + read(0, p, q);
            visit(w, ((k * y[1] + p) * y[2] + i) * y[3],
                  (plane * x[2] + read(1, i, r)) * x[3] + s - op.padding[2], inside(2, s));
          }
        }
      }
    }
  }
}

template <typename Real>
void forward(const Conv3d& op, const View<Real>& v) {
  const std::int64_t pixels = elements_of(v.y_shape) / v.y_shape[0];
  for (std::int64_t k = 0; k < v.y_shape[0]; ++k) {
    std::fill_n(v.y + k * pixels, pixels, v.bias != nullptr ? v.bias[k] : Real{0});
  }
  for_each_tap(op, v.x_shape, v.y_shape,
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const ValidOutputs& columns) {
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   v.y[y + j] += v.weight[w] * v.x[x + j * op.stride[2]];
                 }
               });
}

template <typename Real>
void backward(const Conv3d& op, const View<Real>& v) {
  for_each_tap(op, v.x_shape, v.y_shape,
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const ValidOutputs& columns) {
                 Real sum = 0;
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   sum += v.dy[y + j] * v.x[x + j * op.stride[2]];
                 }
                 v.dweight[w] += sum;
                 if (v.dx == nullptr) return;
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   v.dx[x + j * op.stride[2]] += v.weight[w] * v.dy[y + j];
                 }
               });
  if (v.dbias == nullptr) return;
  const std::int64_t pixels = elements_of(v.y_shape) / v.y_shape[0];
  for (std::int64_t k = 0; k < v.y_shape[0]; ++k) {
    for (std::int64_t p = 0; p < pixels; ++p) v.dbias[k] += v.dy[k * pixels + p];
  }
}

}  // namespace reference
}  // namespace dllaunch
