// Adam's moments (Kingma and Ba 2015, arXiv 1412.6980, algorithm 1), used by adam, adamw and lamb.
#pragma once

#include <cmath>

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

inline std::vector<std::string_view> adam_states(const OptimizerOptions&) {
  return {"exp_avg", "exp_avg_sq"};
}

/// Corrects the bias of moments that start at zero: 1 - beta^t at the t-th step.
struct BiasCorrection {
  BiasCorrection(const OptimizerOptions& options, std::int64_t step)
      : first(1 - std::pow(options.betas[0], static_cast<double>(step))),
        second(1 - std::pow(options.betas[1], static_cast<double>(step))) {}
  double first;
  double second;
};

/// d = g + l2 * w;   m = b1 * m + (1 - b1) * d;   v = b2 * v + (1 - b2) * d * d
/// w = shrink * w - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
template <typename Real>
struct AdamStep {
  Real b1;
  Real b2;
  Real one_minus_b1;
  Real one_minus_b2;
  Real rate;
  Real sqrt_correction2;
  Real eps;
  Real decay;
  Real shrink;

  static AdamStep of(const OptimizerOptions& options, const StepInfo& now, double l2,
                     double shrink_factor) {
    const BiasCorrection correction(options, now.step);
    return {static_cast<Real>(options.betas[0]),
            static_cast<Real>(options.betas[1]),
            static_cast<Real>(1 - options.betas[0]),
            static_cast<Real>(1 - options.betas[1]),
            static_cast<Real>(now.lr / correction.first),
            static_cast<Real>(std::sqrt(correction.second)),
            eps_of<Real>(options),
            static_cast<Real>(l2),
            static_cast<Real>(shrink_factor)};
  }

  constexpr void operator()(const Elements<Real>& at, std::int64_t i) const {
    const Real w = at.weights[i];
    const Real d = at.gradients[i] + decay * w;
    const Real m = b1 * at.first[i] + one_minus_b1 * d;
    const Real v = b2 * at.second[i] + one_minus_b2 * d * d;
    at.first[i] = m;
    at.second[i] = v;
    at.weights[i] = shrink * w - rate * (m / (std::sqrt(v) / sqrt_correction2 + eps));
  }
};

}  // namespace dllaunch
