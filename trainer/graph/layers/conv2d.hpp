#pragma once

#include <vector>

#include "trainer/graph/layers/loops.hpp"
#include "trainer/graph/layers/sliding.hpp"

namespace dllaunch {

/// y[n,k,i,j] = b[k] + sum over c,r,s of x[n,c,i*stride+r-padding,j*stride+s-padding] * w[k,c,r,s]
/// Parameters: weight [channels, c, kernel, kernel], bias [channels].
struct Conv2d {
  static constexpr std::string_view name = "conv2d";
  static constexpr LayerTraits traits{.weighted = true, .backward_reads_y = false};

  int channels = 0;
  int kernel = 0;
  int stride = 1;   // pixels, both axes
  int padding = 0;  // pixels, both axes, both sides, zeros
  bool bias = true;
  Initial initial = Initial::glorot_uniform;  // of the weight; the bias starts at zero

  static constexpr auto keys() {
    return std::tuple(needed_key("channels", &Conv2d::channels),
                      needed_key("kernel", &Conv2d::kernel), key("stride", &Conv2d::stride),
                      key("padding", &Conv2d::padding), key("bias", &Conv2d::bias));
  }
};

inline Inferred infer(const Conv2d& op, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (op.channels < 1 || op.kernel < 1 || op.stride < 1 || op.padding < 0) {
    return shape_error("cannot be a convolution of {} channels, kernel {}, stride {}, padding {}",
                       {op.channels, op.kernel, op.stride, op.padding});
  }
  if (op.padding >= op.kernel) {
    return shape_error("pads {} pixels, so a kernel of {} can lie entirely in the padding",
                       {op.padding, op.kernel});
  }
  Inferred inferred = slide(x, op.channels, op.kernel, op.stride, op.padding);
  const Shape weight{op.channels, x[0], op.kernel, op.kernel};
  if (inferred.problem.empty()) inferred.parameters = weight_and_bias(weight, op.bias, op.initial);
  return inferred;
}

namespace reference {

/// Calls visit(w, y_row, x_row, columns) for every weight w[k,c,r,s] and every output row i it
/// touches: y_row and x_row index y[k,i,0] and x[c, i*stride+r-padding, s-padding]; output column j
/// in `columns` reads x_row + j*stride.
template <typename Visit>
void for_each_tap(const Conv2d& op, const Shape& x, const Shape& y, const Visit& visit) {
  // Divisions, which take longer than a tap of the small images deep in a network.
  std::vector<ValidOutputs> rows;
  std::vector<ValidOutputs> columns;
  for (int tap = 0; tap < op.kernel; ++tap) {
    rows.emplace_back(y[1], x[1], op.stride, tap - op.padding);
    columns.emplace_back(y[2], x[2], op.stride, tap - op.padding);
  }
  std::int64_t w = 0;
  for (std::int64_t k = 0; k < y[0]; ++k) {
    for (std::int64_t c = 0; c < x[0]; ++c) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t s = 0; s < columns.size(); ++s, ++w) {
          const auto row = static_cast<std::int64_t>(r) - op.padding;
          const auto column = static_cast<std::int64_t>(s) - op.padding;
          for (std::int64_t i = rows[r].first; i < rows[r].end; ++i) {
            const std::int64_t h = i * op.stride + row;
            visit(w, (k * y[1] + i) * y[2], (c * x[1] + h) * x[2] + column, columns[s]);
          }
        }
      }
    }
  }
}

template <typename Real>
void forward(const Conv2d& op, const View<Real>& v) {
  const std::int64_t pixels = v.y_shape[1] * v.y_shape[2];
  for (std::int64_t k = 0; k < v.y_shape[0]; ++k) {
    std::fill_n(v.y + k * pixels, pixels, v.bias != nullptr ? v.bias[k] : Real{0});
  }
  for_each_tap(op, v.x_shape, v.y_shape,
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const ValidOutputs& columns) {
                 const Real weight = v.weight[w];
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   v.y[y + j] += weight * v.x[x + j * op.stride];
                 }
               });
}

template <typename Real>
void backward(const Conv2d& op, const View<Real>& v) {
  for_each_tap(op, v.x_shape, v.y_shape,
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const ValidOutputs& columns) {
                 Real sum = 0;
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   sum += v.dy[y + j] * v.x[x + j * op.stride];
                 }
                 v.dweight[w] += sum;
                 if (v.dx == nullptr) return;
                 const Real weight = v.weight[w];
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   v.dx[x + j * op.stride] += weight * v.dy[y + j];
                 }
               });
  if (v.dbias == nullptr) return;
  const std::int64_t pixels = v.y_shape[1] * v.y_shape[2];
  for (std::int64_t k = 0; k < v.y_shape[0]; ++k) {
    for (std::int64_t p = 0; p < pixels; ++p) v.dbias[k] += v.dy[k * pixels + p];
  }
}

}  // namespace reference
}  // namespace dllaunch
