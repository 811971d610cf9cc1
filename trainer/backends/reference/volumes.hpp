// Operations on volumes [channels, depth, height, width], as operations.hpp has them on images.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "trainer/backends/reference/operations.hpp"

namespace dllaunch::reference {

/// Calls visit(w, y_row, x_row, columns) for every weight w[k,c,q,r,s] and every output row it
/// touches, as for_each_tap() of an image does.
template <typename Visit>
void for_each_tap(const Conv3d& op, const Shape& x, const Shape& y, const Visit& visit) {
  const auto& [depth, height, width] = op.kernel;
  const auto inside = [&](std::size_t axis, int tap) {
    return Inside(y[axis + 1], x[axis + 1], op.stride[axis], tap - op.padding[axis]);
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
        const Inside planes = inside(0, q);
        const Inside rows = inside(1, r);
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
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const Inside& columns) {
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   v.y[y + j] += v.weight[w] * v.x[x + j * op.stride[2]];
                 }
               });
}

template <typename Real>
void backward(const Conv3d& op, const View<Real>& v) {
  for_each_tap(op, v.x_shape, v.y_shape,
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const Inside& columns) {
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

/// Calls visit(y, best) for every output: the window's largest input, the first of equals, or the
/// last NaN.
template <typename Real, typename Visit>
void for_each_largest(const MaxPool3d& op, const View<Real>& v, const Visit& visit) {
  const Shape& x = v.x_shape;
  const Shape& y = v.y_shape;
  const auto& [depth, height, width] = op.kernel;
  for (std::int64_t output = 0; output < elements_of(y); ++output) {
    const std::int64_t c = output / (y[1] * y[2] * y[3]);
    const std::int64_t front = output / (y[2] * y[3]) % y[1] * op.stride[0];
    const std::int64_t top = output / y[3] % y[2] * op.stride[1];
    const std::int64_t left = output % y[3] * op.stride[2];
    std::int64_t best = -1;
    for (int tap = 0; tap < depth * height * width; ++tap) {
      const std::int64_t plane = c * x[1] + front + tap / (height * width);
      const std::int64_t row = plane * x[2] + top + tap / width % height;
      const std::int64_t at = row * x[3] + left + tap % width;
      if (best < 0 || v.x[at] > v.x[best] || std::isnan(v.x[at])) best = at;
    }
    visit(output, best);
  }
}

template <typename Real>
void forward(const MaxPool3d& op, const View<Real>& v) {
  for_each_largest(op, v, [&](std::int64_t y, std::int64_t best) { v.y[y] = v.x[best]; });
}

template <typename Real>
void backward(const MaxPool3d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for_each_largest(op, v, [&](std::int64_t y, std::int64_t best) { v.dx[best] += v.dy[y]; });
}

}  // namespace dllaunch::reference
