#pragma once

#include <cmath>
#include <numbers>

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// y = x P(X <= x) for a standard normal X (Hendrycks and Gimpel 2016). exact: by erf; else by
/// their approximation x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), GPT-2's "gelu_new". No
/// `activation` of LayerTraits: its gradient cannot be computed from y.
struct Gelu {
  static constexpr std::string_view name = "gelu";
  static constexpr LayerTraits traits{.backward_reads_y = false,
                                      .flattening = Flattening::passed_on};

  bool exact = false;

  static constexpr auto keys() { return std::tuple(key("exact", &Gelu::exact)); }

  /// Returns y.
  template <typename Real>
  constexpr Real value(Real x) const {
    return x * share(x);
  }
  /// Returns dy / dx.
  template <typename Real>
  constexpr Real slope(Real x) const {
    if (exact) {
      const Real density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Real>);
      return share(x) + x * density;
    }
    const Real inner = Real(coefficient) * (1 + 3 * Real(cubic) * x * x);
    const Real s = share(x);
    return s + x * s * (1 - s) * 2 * inner;
  }

 private:
  static constexpr double coefficient = 0.7978845608028654;  // sqrt(2 / pi)
  static constexpr double cubic = 0.044715;

  /// Returns y / x. (1 + tanh(u)) / 2 is the logistic function of 2 u.
  template <typename Real>
  constexpr Real share(Real x) const {
    if (exact) return (1 + std::erf(x / std::numbers::sqrt2_v<Real>)) / 2;
    const Real u = Real(coefficient) * (x + Real(cubic) * x * x * x);
    return 1 / (1 + std::exp(-2 * u));
  }
};

inline Inferred infer(const Gelu&, const Shape& x) {
  return shape_only(x);
}

namespace reference {

template <typename Real>
void forward(const Gelu& op, const View<Real>& v) {
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) v.y[i] = op.value(v.x[i]);
}

template <typename Real>
void backward(const Gelu& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) {
    v.dx[i] += v.dy[i] * op.slope(v.x[i]);
  }
}

}  // namespace reference
}  // namespace dllaunch
