#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// [tokens, width] -> [width]: the first token.
struct FirstToken {
  static constexpr std::string_view name = "first_token";
  static constexpr LayerTraits traits = backward_reads_nothing;
};

inline Inferred infer(const FirstToken&, const Shape& x) {
  return x.size() == 2 ? shape_only({x[1]}) : needs_sequence(x);
}

namespace reference {

template <typename Real>
void forward(const FirstToken&, const View<Real>& v) {
  std::copy_n(v.x, v.y_shape[0], v.y);
}

template <typename Real>
void backward(const FirstToken&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for (std::int64_t w = 0; w < v.y_shape[0]; ++w) v.dx[w] += v.dy[w];
}

}  // namespace reference
}  // namespace dllaunch
