// Adadelta (Zeiler 2012) in PyTorch's form (torch.optim.Adadelta):
//   d = g + weight_decay * w;   s = rho * s + (1 - rho) * d * d
//   u = sqrt(a + eps) / sqrt(s + eps) * d;   a = rho * a + (1 - rho) * u * u;   w = w - lr * u
#pragma once

#include <cmath>

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

struct Adadelta {
  static constexpr std::string_view name = "adadelta";
  static constexpr std::string_view summary =
      "Adadelta: steps in the units of the weights, as PyTorch's";
  static constexpr std::string_view options[] = {"lr", "rho", "eps", "weight_decay"};
  static constexpr OptimizerOptions defaults{.lr = 1.0, .eps = 1e-6};

  static std::vector<std::string_view> states(const OptimizerOptions&) {
    return {"square_avg", "acc_delta"};
  }

  template <typename Real>
  struct Step {
    Real lr;
    Real rho;
    Real one_minus_rho;
    Real eps;
    Real decay;
    constexpr void operator()(const Elements<Real>& of, std::int64_t i) const {
      const Real d = of.gradients[i] + decay * of.weights[i];
      const Real s = rho * of.first[i] + one_minus_rho * d * d;
      of.first[i] = s;
      const Real u = std::sqrt(of.second[i] + eps) / std::sqrt(s + eps) * d;
      of.second[i] = rho * of.second[i] + one_minus_rho * u * u;
      of.weights[i] -= lr * u;
    }
  };

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    run(Step<Real>{static_cast<Real>(now.lr), static_cast<Real>(given.rho),
                   static_cast<Real>(1 - given.rho), eps_of<Real>(given),
                   static_cast<Real>(given.weight_decay)});
  }
};

}  // namespace dllaunch
