// Adadelta (Zeiler 2012) in PyTorch's form (torch.optim.Adadelta):
//   d = g + weight_decay * w;   s = rho * s + (1 - rho) * d * d
//   u = sqrt(a + eps) / sqrt(s + eps) * d;   a = rho * a + (1 - rho) * u * u;   w = w - lr * u
#include <cmath>

#include "trainer/optimizers/kernel.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr", "rho", "eps", "weight_decay"};

std::vector<std::string_view> states(const OptimizerOptions&) {
  return {"square_avg", "acc_delta"};
}

template <typename Real>
void step(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot) {
  const Real lr = static_cast<Real>(now.lr);
  const Real rho = static_cast<Real>(options.rho);
  const Real rest = static_cast<Real>(1 - options.rho);
  const Real eps = eps_of<Real>(options);
  const Real decay = static_cast<Real>(options.weight_decay);
  Real* w = weights_of<Real>(slot);
  const Real* g = gradients_of<Real>(slot);
  Real* s = state_of<Real>(slot, 0);
  Real* a = state_of<Real>(slot, 1);
  for (std::size_t i = 0; i < slot.elements; ++i) {
    const Real d = g[i] + decay * w[i];
    s[i] = rho * s[i] + rest * d * d;
    const Real u = std::sqrt(a[i] + eps) / std::sqrt(s[i] + eps) * d;
    a[i] = rho * a[i] + rest * u * u;
    w[i] -= lr * u;
  }
}

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) { step<decltype(zero)>(options, now, slot); });
}

}  // namespace

extern const OptimizerEntry adadelta_optimizer;
const OptimizerEntry adadelta_optimizer{
    .name = "adadelta",
    .summary = "Adadelta: steps in the units of the weights, as PyTorch's",
    .options = keys,
    .defaults = {.lr = 1.0, .eps = 1e-6},
    .states = states,
    .update = update};

}  // namespace dllaunch
