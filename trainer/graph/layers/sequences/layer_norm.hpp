#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// Per token, over its `width` values (Ba et al. 2016): y = (x - mean) / sqrt(var + eps) * weight +
/// bias, with the biased variance. Parameters: weight [width], bias [width].
struct LayerNorm {
  static constexpr std::string_view name = "layer_norm";
  static constexpr LayerTraits traits{.backward_reads_y = false};

  double eps = 1e-5;

  static constexpr auto keys() { return std::tuple(key("eps", &LayerNorm::eps)); }
};

inline Inferred infer(const LayerNorm& op, const Shape& x) {
  if (x.size() > 2) return needs_sequence(x);
  if (!(op.eps > 0)) return shape_error("cannot normalise with eps {}", {op.eps});
  const Shape width = {x.back()};
  Inferred inferred = shape_only(x);
  inferred.parameters = {{"weight", width, x.back(), x.back(), Initial::ones},
                         {"bias", width, x.back(), x.back(), Initial::zeros}};
  return inferred;
}

namespace reference {

/// Mean and 1 / sqrt(var + eps) of one token.
template <typename Real>
struct TokenMoments {
  Real mean = 0;
  Real inv_std = 0;

  TokenMoments(const Real* x, std::int64_t width, double eps) {
    for (std::int64_t w = 0; w < width; ++w) mean += x[w];
    mean /= static_cast<Real>(width);
    Real squares = 0;
    for (std::int64_t w = 0; w < width; ++w) squares += (x[w] - mean) * (x[w] - mean);
    inv_std = 1 / std::sqrt(squares / static_cast<Real>(width) + static_cast<Real>(eps));
  }
};

template <typename Real>
void forward(const LayerNorm& op, const View<Real>& v) {
  const std::int64_t width = v.x_shape.back();
  for (std::int64_t first = 0; first < elements_of(v.x_shape); first += width) {
    const TokenMoments<Real> of(v.x + first, width, op.eps);
    for (std::int64_t w = 0; w < width; ++w) {
      v.y[first + w] = (v.x[first + w] - of.mean) * of.inv_std * v.weight[w] + v.bias[w];
    }
  }
}

/// With z = (x - mean) inv_std and g = dy weight: dx = inv_std (g - mean(g) - z mean(g z)).
template <typename Real>
void backward(const LayerNorm& op, const View<Real>& v) {
  const std::int64_t width = v.x_shape.back();
  for (std::int64_t first = 0; first < elements_of(v.x_shape); first += width) {
    const Real* const x = v.x + first;
    const Real* const dy = v.dy + first;
    const TokenMoments<Real> of(x, width, op.eps);
    Real sum = 0;
    Real sum_z = 0;
    for (std::int64_t w = 0; w < width; ++w) {
      const Real z = (x[w] - of.mean) * of.inv_std;
      v.dweight[w] += dy[w] * z;
      v.dbias[w] += dy[w];
      sum += dy[w] * v.weight[w];
      sum_z += dy[w] * v.weight[w] * z;
    }
    if (v.dx == nullptr) continue;
    const auto n = static_cast<Real>(width);
    for (std::int64_t w = 0; w < width; ++w) {
      const Real z = (x[w] - of.mean) * of.inv_std;
      v.dx[first + w] += of.inv_std * (dy[w] * v.weight[w] - sum / n - z * sum_z / n);
    }
  }
}

}  // namespace reference
}  // namespace dllaunch
