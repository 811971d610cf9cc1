#pragma once

#include <functional>

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// The sum of two inputs of the same shape.
struct Add {
  static constexpr std::string_view name = "add";
  static constexpr LayerTraits traits{
      .inputs = 2, .backward_reads_x = false, .backward_reads_y = false};
};

inline Inferred infer(const Add&, const Shape& x, const Shape& other) {
  if (x == other) return shape_only(x);
  return shape_error("cannot add {} to {}", {other, x});
}

namespace reference {

template <typename Real>
void forward(const Add&, const View<Real>& v) {
  std::transform(v.x, v.x + elements_of(v.x_shape), v.other_x, v.y, std::plus<>());
}

template <typename Real>
void backward(const Add&, const View<Real>& v) {
  const auto pass_on = [&v](Real* dx) {
    if (dx == nullptr) return;
    for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) dx[i] += v.dy[i];
  };
  pass_on(v.dx);
  pass_on(v.other_dx);
}

}  // namespace reference
}  // namespace dllaunch
