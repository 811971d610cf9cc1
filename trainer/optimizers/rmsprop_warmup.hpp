// RMSprop warm-up: starts as RMSProp and becomes SGD (Akiba, Suzuki and Fukuda 2017, arXiv
// 1711.04325). After e epochs of training:
//   d = g + weight_decay * w;   s = alpha * s + (1 - alpha) * d * d
//   D = momentum * D - (a_sgd + a_rms / (sqrt(s) + eps)) * d;   w = w + lr * D
//   a_sgd = exp(2 * (e - center) / period) / 2              e < center
//         = 1/2 + (e - center) / period                     e < center + period / 2
//         = 1                                               after
//   a_rms = (1 - a_sgd) * rmsprop_lr / lr
//
// Form and constants agree with two public re-implementations. Two points have not been checked
// against the paper. The slope of the linear piece: some implementations have 2 / period, with
// which a_sgd would jump from 3/2 to 1; only 1 / period is continuous at both ends. And the weight
// decay, which is part of the gradient here, as in SGD.
#pragma once

#include <algorithm>
#include <cmath>

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

struct RmspropWarmup {
  static constexpr std::string_view name = "rmsprop-warmup";
  static constexpr std::string_view summary =
      "RMSProp that turns into SGD with momentum (Akiba et al. 2017)";
  static constexpr std::string_view options[] = {
      "lr",         "momentum",     "alpha",         "eps",
      "rmsprop_lr", "center_epoch", "period_epochs", "weight_decay"};
  static constexpr OptimizerOptions defaults{.lr = 0.1, .momentum = 0.9};

  static std::vector<std::string_view> states(const OptimizerOptions&) {
    return {"square_avg", "momentum_buffer"};
  }

  template <typename Real>
  struct Step {
    Real lr;
    Real plain;
    Real scaled;
    Real momentum;
    Real alpha;
    Real one_minus_alpha;
    Real eps;
    Real decay;
    constexpr void operator()(const Elements<Real>& of, std::int64_t i) const {
      const Real d = of.gradients[i] + decay * of.weights[i];
      const Real s = alpha * of.first[i] + one_minus_alpha * d * d;
      of.first[i] = s;
      const Real v = momentum * of.second[i] + (plain + scaled / (std::sqrt(s) + eps)) * d;  // -D
      of.second[i] = v;
      of.weights[i] -= lr * v;
    }
  };

  static double share_of_sgd(const OptimizerOptions& given, double epoch) {
    const double past = (epoch - given.center_epoch) / given.period_epochs;
    return std::clamp(past < 0 ? std::exp(2 * past) / 2 : 0.5 + past, 0.0, 1.0);
  }

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    const double share = share_of_sgd(given, now.epoch);
    // At lr = 0 the update is zero.
    const double rest_share = now.lr > 0 ? (1 - share) * given.rmsprop_lr / now.lr : 0;
    run(Step<Real>{static_cast<Real>(now.lr), static_cast<Real>(share),
                   static_cast<Real>(rest_share), static_cast<Real>(given.momentum),
                   static_cast<Real>(given.alpha), static_cast<Real>(1 - given.alpha),
                   eps_of<Real>(given), static_cast<Real>(given.weight_decay)});
  }
};

}  // namespace dllaunch
