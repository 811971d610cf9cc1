// LARS (You, Gitman and Ginsburg 2017, arXiv 1708.03888):
//   local = eta * |w| / (|g| + weight_decay * |w|)        1 where one of the norms is 0
//   v = momentum * v + lr * local * (g + weight_decay * w);   w = w - v
// `lr_in_momentum: false` is the "unscaled" form of Google's MLPerf submissions (arXiv 1909.09756;
// not checked against the paper):
//   v = momentum * v + local * (g + weight_decay * w);        w = w - lr * v
// For biases and batch-norm parameters: local = 1, no decay.
//
// With the rate inside v, a new rate applies only to new gradients. Horovod's momentum correction
// (Goyal et al. 2017, remark 2) multiplies the momentum of such a step by lr / previous lr.
#pragma once

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

struct Lars {
  static constexpr std::string_view name = "lars";
  static constexpr std::string_view summary =
      "LARS: each layer's step scaled by the norm of its weights (You et al. 2017)";
  static constexpr std::string_view options[] = {
      "lr",           "momentum",       "trust_coefficient",
      "weight_decay", "lr_in_momentum", "momentum_correction"};
  static constexpr OptimizerOptions defaults{.lr = 0.1, .momentum = 0.9};

  static std::vector<std::string_view> states(const OptimizerOptions& given) {
    if (given.momentum == 0) return {};
    return {"momentum_buffer"};
  }
  static std::string_view problem(const OptimizerOptions& given) {
    return given.momentum_correction && !given.lr_in_momentum
               ? "momentum_correction needs lr_in_momentum: true"
               : "";
  }

  template <typename Real>
  struct OfSlot {
    Real factor;
    Real decay;
  };
  template <typename Real>
  static OfSlot<Real> of_slot(const OptimizerOptions& given, const StepInfo& now,
                              const SlotNorms& norms) {
    const bool has_ratio = !norms.one_dimensional && norms.weights > 0 && norms.gradients > 0;
    const double local =
        has_ratio ? given.trust_coefficient *
                        (norms.weights / (norms.gradients + given.weight_decay * norms.weights))
                  : 1;
    return {static_cast<Real>(given.lr_in_momentum ? now.lr * local : local),
            static_cast<Real>(norms.one_dimensional ? 0 : given.weight_decay)};
  }

  template <typename Real, bool with_momentum>
  struct Step {
    Real outside;
    Real momentum;
    constexpr void operator()(const Elements<Real>& of, std::int64_t i,
                              const OfSlot<Real>& slot) const {
      const Real d = of.gradients[i] + slot.decay * of.weights[i];
      if constexpr (with_momentum) {
        const Real v = momentum * of.first[i] + slot.factor * d;
        of.first[i] = v;
        of.weights[i] -= outside * v;
      } else {
        of.weights[i] -= outside * slot.factor * d;
      }
    }
  };

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    const bool corrected = given.momentum_correction && now.previous_lr > 0;
    const double kept = corrected ? given.momentum * (now.lr / now.previous_lr) : given.momentum;
    const auto outside = static_cast<Real>(given.lr_in_momentum ? 1 : now.lr);
    const auto momentum = static_cast<Real>(kept);
    if (given.momentum == 0) return run(Step<Real, false>{outside, momentum});
    run(Step<Real, true>{outside, momentum});
  }
};

}  // namespace dllaunch
