#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// [c,h,w] -> [h*w, c]: each pixel, in the order of rows, becomes a token of its channels.
struct ToSequence {
  static constexpr std::string_view name = "to_sequence";
  static constexpr LayerTraits traits = backward_reads_nothing;
};

inline Inferred infer(const ToSequence&, const Shape& x) {
  return x.size() == 3 ? shape_only({x[1] * x[2], x[0]}) : needs_image(x);
}

namespace reference {

template <typename Real>
void forward(const ToSequence&, const View<Real>& v) {
  const std::int64_t tokens = v.y_shape[0];
  const std::int64_t width = v.y_shape[1];
  for (std::int64_t i = 0; i < tokens * width; ++i) v.y[i] = v.x[i % width * tokens + i / width];
}

template <typename Real>
void backward(const ToSequence&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  const std::int64_t tokens = v.y_shape[0];
  const std::int64_t width = v.y_shape[1];
  for (std::int64_t i = 0; i < tokens * width; ++i) v.dx[i % width * tokens + i / width] += v.dy[i];
}

}  // namespace reference
}  // namespace dllaunch
