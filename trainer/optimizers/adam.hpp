// Adam (Kingma and Ba 2015) in PyTorch's form (torch.optim.Adam): weight_decay * w is added to the
// gradient. The arithmetic: adam_moments.hpp.
#pragma once

#include "trainer/optimizers/adam_moments.hpp"

namespace dllaunch {

struct Adam {
  static constexpr std::string_view name = "adam";
  static constexpr std::string_view summary =
      "Adam, weight decay as part of the gradient, as PyTorch's";
  static constexpr std::string_view options[] = {"lr", "betas", "eps", "weight_decay"};
  static constexpr OptimizerOptions defaults{.lr = 0.001};
  static constexpr auto states = adam_states;

  template <typename Real, typename Run>
  static void step(const OptimizerOptions& given, const StepInfo& now, const Run& run) {
    run(AdamStep<Real>::of(given, now, given.weight_decay, /*shrink_factor=*/1));
  }
};

}  // namespace dllaunch
