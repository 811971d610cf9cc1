#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// Adds `pixels` zeros on all sides of the image.
struct ZeroPad2d {
  static constexpr std::string_view name = "zero_pad2d";
  static constexpr LayerTraits traits = backward_reads_nothing;

  int pixels = 1;

  static constexpr auto keys() { return std::tuple(key("pixels", &ZeroPad2d::pixels)); }
};

inline Inferred infer(const ZeroPad2d& op, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (op.pixels < 1) return shape_error("cannot pad {} pixels", {op.pixels});
  const std::int64_t both = std::int64_t{2} * op.pixels;
  return shape_only({x[0], x[1] + both, x[2] + both});
}

namespace reference {

/// Calls visit(y, x, columns) for every row of the image; y and x are the indexes of its first
/// element.
template <typename Visit>
void for_each_padded_row(int pixels, const Shape& x, const Shape& y, const Visit& visit) {
  for (std::int64_t c = 0; c < x[0]; ++c) {
    for (std::int64_t h = 0; h < x[1]; ++h) {
      visit((c * y[1] + h + pixels) * y[2] + pixels, (c * x[1] + h) * x[2], x[2]);
    }
  }
}

template <typename Real>
void forward(const ZeroPad2d& op, const View<Real>& v) {
  std::fill_n(v.y, elements_of(v.y_shape), Real{0});
  for_each_padded_row(op.pixels, v.x_shape, v.y_shape,
                      [&](std::int64_t y, std::int64_t x, std::int64_t columns) {
                        std::copy_n(v.x + x, columns, v.y + y);
                      });
}

template <typename Real>
void backward(const ZeroPad2d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for_each_padded_row(op.pixels, v.x_shape, v.y_shape,
                      [&](std::int64_t y, std::int64_t x, std::int64_t columns) {
                        for (std::int64_t j = 0; j < columns; ++j) v.dx[x + j] += v.dy[y + j];
                      });
}

}  // namespace reference
}  // namespace dllaunch
