// Adam (Kingma and Ba 2015) in PyTorch's form (torch.optim.Adam): weight_decay * w is added to the
// gradient. The arithmetic: adam_moments.hpp.
#include "trainer/optimizers/adam_moments.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr", "betas", "eps", "weight_decay"};

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) {
    adam_step<decltype(zero)>(options, now, slot, options.weight_decay, /*shrinking=*/1);
  });
}

}  // namespace

extern const OptimizerEntry adam_optimizer;
const OptimizerEntry adam_optimizer{
    .name = "adam",
    .summary = "Adam, weight decay as part of the gradient, as PyTorch's",
    .options = keys,
    .defaults = {.lr = 0.001},
    .states = adam_states,
    .update = update};

}  // namespace dllaunch
