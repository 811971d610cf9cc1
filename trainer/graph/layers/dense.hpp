#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// y[n,u] = b[u] + sum over f of x[n,f] * w[u,f], for each token of a sequence [tokens, f].
/// Parameters: weight [units, f], or [f, units] if `input_major`, and bias [units].
struct Dense {
  static constexpr std::string_view name = "dense";
  static constexpr LayerTraits traits{
      .weighted = true, .backward_reads_y = false, .flattening = Flattening::unseen};

  int units = 0;
  bool bias = true;
  Initial initial = Initial::glorot_uniform;  // torch_uniform also applies to the bias
  bool input_major = false;                   // the weight is w[f,u], as GPT-2's Conv1D stores it
  double deviation = 0;                       // of Initial::normal

  static constexpr auto keys() {
    return std::tuple(needed_key("units", &Dense::units), key("bias", &Dense::bias));
  }
};

inline Inferred infer(const Dense& op, const Shape& x) {
  if (x.size() > 2) return shape_error("needs a vector, got {}: flatten it first", {x});
  if (op.units < 1) return shape_error("needs at least 1 unit, got {}", {op.units});
  Inferred inferred = shape_only(x);
  inferred.shape.back() = op.units;
  inferred.parameters = weight_and_bias({op.units, x.back()}, op.bias, op.initial);
  Parameter& weight = inferred.parameters.front();
  weight.deviation = op.deviation;
  if (op.input_major) std::swap(weight.shape[0], weight.shape[1]);
  return inferred;
}

namespace reference {

/// How the elements of a weight lie: w[u,f] is at u * unit + f * feature.
struct DenseStrides {
  std::int64_t unit;
  std::int64_t feature;
};
template <typename Real>
DenseStrides strides_of(const Dense& op, const View<Real>& v) {
  if (op.input_major) return {1, v.y_shape.back()};
  return {v.x_shape.back(), 1};
}

template <typename Real>
void forward(const Dense& op, const View<Real>& v) {
  const std::int64_t features = v.x_shape.back();
  const std::int64_t units = v.y_shape.back();
  const auto [unit, feature] = strides_of(op, v);
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) {
    const std::int64_t u = i % units;
    const Real* x = v.x + i / units * features;
    Real sum = v.bias != nullptr ? v.bias[u] : Real{0};
    for (std::int64_t f = 0; f < features; ++f) sum += v.weight[u * unit + f * feature] * x[f];
    v.y[i] = sum;
  }
}

template <typename Real>
void backward(const Dense& op, const View<Real>& v) {
  const std::int64_t features = v.x_shape.back();
  const std::int64_t units = v.y_shape.back();
  const auto [unit, feature] = strides_of(op, v);
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) {
    const std::int64_t u = i % units;
    const std::int64_t row = i / units * features;
    const Real dy = v.dy[i];
    for (std::int64_t f = 0; f < features; ++f) {
      v.dweight[u * unit + f * feature] += dy * v.x[row + f];
    }
    if (v.dbias != nullptr) v.dbias[u] += dy;
    if (v.dx == nullptr) continue;
    for (std::int64_t f = 0; f < features; ++f) {
      v.dx[row + f] += dy * v.weight[u * unit + f * feature];
    }
  }
}

}  // namespace reference
}  // namespace dllaunch
