// The moments of Adam (Kingma and Ba 2015) that adam, adamw and lamb keep.
#pragma once

#include <cmath>

#include "trainer/optimizers/kernel.hpp"

namespace dllaunch {

inline std::vector<std::string_view> adam_states(const OptimizerOptions&) {
  return {"exp_avg", "exp_avg_sq"};
}

/// Both start at zero, which is made up for in the first steps.
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
void adam_step(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot,
               double l2, double shrinking) {
  const BiasCorrection correction(options, now.step);
  const Real b1 = static_cast<Real>(options.betas[0]);
  const Real b2 = static_cast<Real>(options.betas[1]);
  const Real rest1 = static_cast<Real>(1 - options.betas[0]);
  const Real rest2 = static_cast<Real>(1 - options.betas[1]);
  const Real rate = static_cast<Real>(now.lr / correction.first);
  const Real root = static_cast<Real>(std::sqrt(correction.second));
  const Real eps = eps_of<Real>(options);
  const Real decay = static_cast<Real>(l2);
  const Real shrink = static_cast<Real>(shrinking);
  Real* w = weights_of<Real>(slot);
  const Real* g = gradients_of<Real>(slot);
  Real* m = state_of<Real>(slot, 0);
  Real* v = state_of<Real>(slot, 1);
  for (std::size_t i = 0; i < slot.elements; ++i) {
    const Real d = g[i] + decay * w[i];
    m[i] = b1 * m[i] + rest1 * d;
    v[i] = b2 * v[i] + rest2 * d * d;
    w[i] = shrink * w[i] - rate * (m[i] / (std::sqrt(v[i]) / root + eps));
  }
}

}  // namespace dllaunch
