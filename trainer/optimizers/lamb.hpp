// LAMB (You et al. 2020, arXiv 1904.00962, algorithm 2):
//   m = b1 * m + (1 - b1) * g;   v = b2 * v + (1 - b2) * g * g
//   u = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay * w
//   w = w - lr * |w| / |u| * u                            |w| / |u| = 1 where one of them is 0
// For biases and batch-norm parameters: no ratio, no decay.
//
// The paper's phi is the identity here. This and eps = 1e-6 have not been checked against the
// paper.
#pragma once

#include <cmath>

#include "trainer/optimizers/adam_moments.hpp"

namespace dllaunch {

struct Lamb {
  static constexpr std::string_view name = "lamb";
  static constexpr std::string_view summary =
      "LAMB: Adam, each layer's step scaled by the norm of its weights (You et al. 2020)";
  static constexpr std::string_view options[] = {"lr", "betas", "eps", "weight_decay"};
  static constexpr OptimizerOptions defaults{.lr = 0.001, .eps = 1e-6};
  static constexpr auto states = adam_states;

  template <typename Real>
  struct OfSlot {
    Real rate;
    Real decay;
  };
  template <typename Real>
  static OfSlot<Real> of_slot(const OptimizerOptions& given, const StepInfo& now,
                              const SlotNorms& norms) {
    // Gradients have been replaced by u.
    const bool has_ratio = !norms.one_dimensional && norms.weights > 0 && norms.gradients > 0;
    return {static_cast<Real>(now.lr * (has_ratio ? norms.weights / norms.gradients : 1)),
            static_cast<Real>(norms.one_dimensional ? 0 : given.weight_decay)};
  }

  /// Replaces the gradients by u, LAMB's update direction.
  template <typename Real>
  struct Direct {
    Real b1;
    Real b2;
    Real one_minus_b1;
    Real one_minus_b2;
    Real first;
    Real second;
    Real eps;
    constexpr void operator()(const Elements<Real>& of, std::int64_t i,
                              const OfSlot<Real>& slot) const {
      const Real g = of.gradients[i];
      const Real m = b1 * of.first[i] + one_minus_b1 * g;
      const Real v = b2 * of.second[i] + one_minus_b2 * g * g;
      of.first[i] = m;
      of.second[i] = v;
      of.gradients[i] = m * first / (std::sqrt(v * second) + eps) + slot.decay * of.weights[i];
    }
  };
  template <typename Real>
  static Direct<Real> direct(const OptimizerOptions& given, const StepInfo& now) {
    const BiasCorrection correction(given, now.step);
    return {static_cast<Real>(given.betas[0]),
            static_cast<Real>(given.betas[1]),
            static_cast<Real>(1 - given.betas[0]),
            static_cast<Real>(1 - given.betas[1]),
            static_cast<Real>(1 / correction.first),
            static_cast<Real>(1 / correction.second),
            eps_of<Real>(given)};
  }

  template <typename Real>
  struct Step {
    constexpr void operator()(const Elements<Real>& of, std::int64_t i,
                              const OfSlot<Real>& slot) const {
      of.weights[i] -= slot.rate * of.gradients[i];
    }
  };
  template <typename Real, typename Run>
  static void step(const OptimizerOptions&, const StepInfo&, const Run& run) {
    run(Step<Real>{});
  }
};

}  // namespace dllaunch
