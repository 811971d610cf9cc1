#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// [c,h,w] -> [c*h*w], in that order, as PyTorch's flatten; likewise for volumes.
struct Flatten {
  static constexpr std::string_view name = "flatten";
  static constexpr LayerTraits traits{
      .backward_reads_x = false, .backward_reads_y = false, .flattening = Flattening::passed_on};
};

inline Inferred infer(const Flatten&, const Shape& x) {
  return shape_only({elements_of(x)});
}

namespace reference {

template <typename Real>
void forward(const Flatten&, const View<Real>& v) {
  std::copy_n(v.x, elements_of(v.x_shape), v.y);
}

template <typename Real>
void backward(const Flatten&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) v.dx[i] += v.dy[i];
}

}  // namespace reference
}  // namespace dllaunch
