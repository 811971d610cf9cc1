// Adagrad (Duchi, Hazan and Singer 2011) in PyTorch's form (torch.optim.Adagrad):
//   d = g + weight_decay * w;   s = s + d * d
//   w = w - lr / (1 + (t - 1) * lr_decay) * d / (sqrt(s) + eps)       at the t-th step
#pragma once

#include <cmath>

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

struct Adagrad {
  static constexpr std::string_view name = "adagrad";
  static constexpr std::string_view summary =
      "Adagrad: rates that fall with the gradients seen, as PyTorch's";
  static constexpr std::string_view options[] = {"lr", "lr_decay", "weight_decay", "eps"};
  static constexpr OptimizerOptions defaults{.lr = 0.01, .eps = 1e-10};

  static std::vector<std::string_view> states(const OptimizerOptions&) { return {"sum"}; }

  template <typename Real>
  struct Step {
    Real lr;
    Real eps;
    Real decay;
    constexpr void operator()(const Elements<Real>& of, std::int64_t i) const {
      const Real d = of.gradients[i] + decay * of.weights[i];
      const Real s = of.first[i] + d * d;
      of.first[i] = s;
      of.weights[i] -= lr * (d / (std::sqrt(s) + eps));
    }
  };

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    const double earlier = static_cast<double>(now.step - 1);
    run(Step<Real>{static_cast<Real>(now.lr / (1 + earlier * given.lr_decay)), eps_of<Real>(given),
                   static_cast<Real>(given.weight_decay)});
  }
};

}  // namespace dllaunch
