// Adagrad (Duchi, Hazan and Singer 2011) in PyTorch's form (torch.optim.Adagrad):
//   d = g + weight_decay * w;   s = s + d * d
//   w = w - lr / (1 + (t - 1) * lr_decay) * d / (sqrt(s) + eps)       at the t-th step
#include <cmath>

#include "trainer/optimizers/kernel.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr", "lr_decay", "weight_decay", "eps"};

std::vector<std::string_view> states(const OptimizerOptions&) {
  return {"sum"};
}

template <typename Real>
void step(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot) {
  const double earlier = static_cast<double>(now.step - 1);
  const Real lr = static_cast<Real>(now.lr / (1 + earlier * options.lr_decay));
  const Real eps = eps_of<Real>(options);
  const Real decay = static_cast<Real>(options.weight_decay);
  Real* w = weights_of<Real>(slot);
  const Real* g = gradients_of<Real>(slot);
  Real* s = state_of<Real>(slot, 0);
  for (std::size_t i = 0; i < slot.elements; ++i) {
    const Real d = g[i] + decay * w[i];
    s[i] += d * d;
    w[i] -= lr * (d / (std::sqrt(s[i]) + eps));
  }
}

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) { step<decltype(zero)>(options, now, slot); });
}

}  // namespace

extern const OptimizerEntry adagrad_optimizer;
const OptimizerEntry adagrad_optimizer{
    .name = "adagrad",
    .summary = "Adagrad: rates that fall with the gradients seen, as PyTorch's",
    .options = keys,
    .defaults = {.lr = 0.01, .eps = 1e-10},
    .states = states,
    .update = update};

}  // namespace dllaunch
