// Stochastic gradient descent in PyTorch's form (torch.optim.SGD, dampening 0):
//   d = g + weight_decay * w;   v = momentum * v + d;   w = w - lr * v      (no v without momentum)
// nesterov: w = w - lr * (d + momentum * v)
//
// The rate is outside the momentum, so a new rate applies to all of it: this form needs no momentum
// correction (Goyal et al. 2017, remark 2; Horovod).
#pragma once

#include "trainer/optimizers/step.hpp"

namespace dllaunch {

struct Sgd {
  static constexpr std::string_view name = "sgd";
  static constexpr std::string_view summary =
      "stochastic gradient descent with momentum and weight decay, as PyTorch's";
  static constexpr std::string_view options[] = {"lr", "momentum", "nesterov", "weight_decay"};
  static constexpr OptimizerOptions defaults{.lr = 0.01};

  static std::vector<std::string_view> states(const OptimizerOptions& given) {
    if (given.momentum == 0) return {};
    return {"momentum_buffer"};
  }
  static std::string_view problem(const OptimizerOptions& given) {
    return given.nesterov && given.momentum == 0 ? "nesterov needs a momentum above 0" : "";
  }

  enum class Form { plain, momentum, nesterov };
  template <typename Real, Form form>
  struct Step {
    Real lr;
    Real momentum;
    Real decay;
    constexpr void operator()(const Elements<Real>& of, std::int64_t i) const {
      const Real d = of.gradients[i] + decay * of.weights[i];
      if constexpr (form == Form::plain) {
        of.weights[i] -= lr * d;
      } else {
        const Real v = momentum * of.first[i] + d;
        of.first[i] = v;
        of.weights[i] -= lr * (form == Form::nesterov ? d + momentum * v : v);
      }
    }
  };

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    const auto lr = static_cast<Real>(now.lr);
    const auto momentum = static_cast<Real>(given.momentum);
    const auto decay = static_cast<Real>(given.weight_decay);
    if (given.momentum == 0) return run(Step<Real, Form::plain>{lr, momentum, decay});
    if (given.nesterov) return run(Step<Real, Form::nesterov>{lr, momentum, decay});
    run(Step<Real, Form::momentum>{lr, momentum, decay});
  }
};

}  // namespace dllaunch
