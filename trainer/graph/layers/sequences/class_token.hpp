#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// Puts a learned token before a sequence (Dosovitskiy et al. 2020). Parameter: weight [1, 1,
/// width].
struct ClassToken {
  static constexpr std::string_view name = "class_token";
  static constexpr LayerTraits traits = backward_reads_nothing;
};

inline Inferred infer(const ClassToken&, const Shape& x) {
  if (x.size() != 2) return needs_sequence(x);
  Inferred inferred = shape_only({x[0] + 1, x[1]});
  inferred.parameters = {{"weight", {1, 1, x[1]}, x[1], x[1], Initial::zeros}};
  return inferred;
}

namespace reference {

template <typename Real>
void forward(const ClassToken&, const View<Real>& v) {
  const std::int64_t width = v.x_shape[1];
  std::copy_n(v.weight, width, v.y);
  std::copy_n(v.x, elements_of(v.x_shape), v.y + width);
}

template <typename Real>
void backward(const ClassToken&, const View<Real>& v) {
  const std::int64_t width = v.x_shape[1];
  for (std::int64_t w = 0; w < width; ++w) v.dweight[w] += v.dy[w];
  if (v.dx == nullptr) return;
  for (std::int64_t i = 0; i < elements_of(v.x_shape); ++i) v.dx[i] += v.dy[width + i];
}

}  // namespace reference
}  // namespace dllaunch
