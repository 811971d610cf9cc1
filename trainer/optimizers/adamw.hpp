// Adam with decoupled weight decay (Loshchilov and Hutter 2019) in PyTorch's form
// (torch.optim.AdamW): w shrinks by lr * weight_decay before Adam's step.
#pragma once

#include "trainer/optimizers/adam_moments.hpp"

namespace dllaunch {

struct AdamW {
  static constexpr std::string_view name = "adamw";
  static constexpr std::string_view summary = "Adam with decoupled weight decay, as PyTorch's";
  static constexpr std::string_view options[] = {"lr", "betas", "eps", "weight_decay"};
  static constexpr OptimizerOptions defaults{.lr = 0.001, .weight_decay = 0.01};
  static constexpr auto states = adam_states;

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    run(AdamStep<Real>::of(given, now, /*l2=*/0, 1 - now.lr * given.weight_decay));
  }
};

}  // namespace dllaunch
