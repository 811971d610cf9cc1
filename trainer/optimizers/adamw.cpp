// Adam with decoupled weight decay (Loshchilov and Hutter 2019) in PyTorch's form
// (torch.optim.AdamW): w shrinks by lr * weight_decay before Adam's step.
#include "trainer/optimizers/adam_moments.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr", "betas", "eps", "weight_decay"};

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) {
    adam_step<decltype(zero)>(options, now, slot, /*l2=*/0, 1 - now.lr * options.weight_decay);
  });
}

}  // namespace

extern const OptimizerEntry adamw_optimizer;
const OptimizerEntry adamw_optimizer{.name = "adamw",
                                     .summary = "Adam with decoupled weight decay, as PyTorch's",
                                     .options = keys,
                                     .defaults = {.lr = 0.001, .weight_decay = 0.01},
                                     .states = adam_states,
                                     .update = update};

}  // namespace dllaunch
