#pragma once

#include <numeric>

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// [c,h,w] or [c,d,h,w] -> [c]: the mean over all pixels.
struct GlobalAvgPool {
  static constexpr std::string_view name = "global_avg_pool";
  static constexpr LayerTraits traits = backward_reads_nothing;
};

inline Inferred infer(const GlobalAvgPool&, const Shape& x) {
  return x.size() == 3 || x.size() == 4 ? shape_only({x[0]}) : needs_image(x);
}

namespace reference {

template <typename Real>
void forward(const GlobalAvgPool&, const View<Real>& v) {
  const std::int64_t pixels = elements_of(v.x_shape) / v.x_shape[0];
  for (std::int64_t c = 0; c < v.x_shape[0]; ++c) {
    const Real* x = v.x + c * pixels;
    v.y[c] = std::accumulate(x, x + pixels, Real{0}) / static_cast<Real>(pixels);
  }
}

template <typename Real>
void backward(const GlobalAvgPool&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  const std::int64_t pixels = elements_of(v.x_shape) / v.x_shape[0];
  for (std::int64_t c = 0; c < v.x_shape[0]; ++c) {
    const Real share = v.dy[c] / static_cast<Real>(pixels);
    for (std::int64_t p = 0; p < pixels; ++p) v.dx[c * pixels + p] += share;
  }
}

}  // namespace reference
}  // namespace dllaunch
