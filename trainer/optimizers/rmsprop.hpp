// RMSProp (Hinton 2012) in PyTorch's form (torch.optim.RMSprop):
//   d = g + weight_decay * w;   s = alpha * s + (1 - alpha) * d * d
//   centered: a = alpha * a + (1 - alpha) * d, and s - a * a replaces s below
//   u = d / (sqrt(s) + eps);   v = momentum * v + u;   w = w - lr * v     (u without momentum)
#pragma once

#include <cmath>

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

struct Rmsprop {
  static constexpr std::string_view name = "rmsprop";
  static constexpr std::string_view summary =
      "RMSProp, plain or centred, with momentum, as PyTorch's";
  static constexpr std::string_view options[] = {"lr",           "alpha",    "eps",
                                                 "weight_decay", "momentum", "centered"};
  static constexpr OptimizerOptions defaults{.lr = 0.01};

  static std::vector<std::string_view> states(const OptimizerOptions& given) {
    std::vector<std::string_view> names{"square_avg"};
    if (given.momentum != 0) names.emplace_back("momentum_buffer");
    if (given.centered) names.emplace_back("grad_avg");
    return names;
  }

  template <typename Real, bool with_momentum, bool centered>
  struct Step {
    Real lr;
    Real alpha;
    Real one_minus_alpha;
    Real eps;
    Real decay;
    Real keep;
    constexpr void operator()(const Elements<Real>& of, std::int64_t i) const {
      const Real d = of.gradients[i] + decay * of.weights[i];
      const Real s = alpha * of.first[i] + one_minus_alpha * d * d;
      of.first[i] = s;
      Real variance = s;
      if constexpr (centered) {
        Real* const average = with_momentum ? of.third : of.second;
        const Real a = alpha * average[i] + one_minus_alpha * d;
        average[i] = a;
        // Rounding can make the variance of a constant gradient negative.
        variance = s - a * a;
        variance = variance < 0 ? Real(0) : variance;
      }
      Real u = d / (std::sqrt(variance) + eps);
      if constexpr (with_momentum) {
        u = keep * of.second[i] + u;
        of.second[i] = u;
      }
      of.weights[i] -= lr * u;
    }
  };

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    const auto chosen = [&]<bool with_momentum, bool centered>() {
      run(Step<Real, with_momentum, centered>{
          static_cast<Real>(now.lr), static_cast<Real>(given.alpha),
          static_cast<Real>(1 - given.alpha), eps_of<Real>(given),
          static_cast<Real>(given.weight_decay), static_cast<Real>(given.momentum)});
    };
    if (given.momentum != 0) {
      given.centered ? chosen.template operator()<true, true>()
                     : chosen.template operator()<true, false>();
    } else {
      given.centered ? chosen.template operator()<false, true>()
                     : chosen.template operator()<false, false>();
    }
  }
};

}  // namespace dllaunch
