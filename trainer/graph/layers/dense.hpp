#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// y[n,u] = b[u] + sum over f of x[n,f] * w[u,f].   Parameters: weight [units, f], bias [units].
struct Dense {
  static constexpr std::string_view name = "dense";
  static constexpr LayerTraits traits{
      .weighted = true, .backward_reads_y = false, .flattening = Flattening::unseen};

  int units = 0;
  bool bias = true;
  Initial initial = Initial::glorot_uniform;  // torch_uniform also applies to the bias

  static constexpr auto keys() {
    return std::tuple(needed_key("units", &Dense::units), key("bias", &Dense::bias));
  }
};

inline Inferred infer(const Dense& op, const Shape& x) {
  if (x.size() != 1) return shape_error("needs a vector, got {}: flatten it first", {x});
  if (op.units < 1) return shape_error("needs at least 1 unit, got {}", {op.units});
  Inferred inferred = shape_only({op.units});
  inferred.parameters = weight_and_bias({op.units, x[0]}, op.bias, op.initial);
  return inferred;
}

namespace reference {

template <typename Real>
void forward(const Dense&, const View<Real>& v) {
  const std::int64_t features = v.x_shape[0];
  for (std::int64_t u = 0; u < v.y_shape[0]; ++u) {
    Real sum = v.bias != nullptr ? v.bias[u] : Real{0};
    for (std::int64_t f = 0; f < features; ++f) sum += v.weight[u * features + f] * v.x[f];
    v.y[u] = sum;
  }
}

template <typename Real>
void backward(const Dense&, const View<Real>& v) {
  const std::int64_t features = v.x_shape[0];
  for (std::int64_t u = 0; u < v.y_shape[0]; ++u) {
    const Real dy = v.dy[u];
    for (std::int64_t f = 0; f < features; ++f) v.dweight[u * features + f] += dy * v.x[f];
    if (v.dbias != nullptr) v.dbias[u] += dy;
    if (v.dx == nullptr) continue;
    for (std::int64_t f = 0; f < features; ++f) v.dx[f] += dy * v.weight[u * features + f];
  }
}

}  // namespace reference
}  // namespace dllaunch
