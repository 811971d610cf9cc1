// Stochastic gradient descent in PyTorch's form (torch.optim.SGD, dampening 0):
//   d = g + weight_decay * w;   v = momentum * v + d;   w = w - lr * v      (no v without momentum)
// nesterov: w = w - lr * (d + momentum * v)
//
// The rate is outside the momentum, so when it changes, all of the momentum follows: what Goyal et
// al. 2017 and Horovod call momentum correction is part of this form.
#include "trainer/optimizers/kernel.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr", "momentum", "nesterov", "weight_decay"};

std::vector<std::string_view> states(const OptimizerOptions& options) {
  if (options.momentum == 0) return {};
  return {"momentum_buffer"};
}

template <typename Real>
void step(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot) {
  const Real lr = static_cast<Real>(now.lr);
  const Real momentum = static_cast<Real>(options.momentum);
  const Real decay = static_cast<Real>(options.weight_decay);
  Real* w = weights_of<Real>(slot);
  const Real* g = gradients_of<Real>(slot);
  if (slot.states.empty()) {
    for (std::size_t i = 0; i < slot.elements; ++i) w[i] -= lr * (g[i] + decay * w[i]);
    return;
  }
  Real* v = state_of<Real>(slot, 0);
  if (options.nesterov) {
    for (std::size_t i = 0; i < slot.elements; ++i) {
      const Real d = g[i] + decay * w[i];
      v[i] = momentum * v[i] + d;
      w[i] -= lr * (d + momentum * v[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < slot.elements; ++i) {
    v[i] = momentum * v[i] + (g[i] + decay * w[i]);
    w[i] -= lr * v[i];
  }
}

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) { step<decltype(zero)>(options, now, slot); });
}

std::string_view problem(const OptimizerOptions& options) {
  return options.nesterov && options.momentum == 0 ? "nesterov needs a momentum above 0" : "";
}

}  // namespace

extern const OptimizerEntry sgd_optimizer;
const OptimizerEntry sgd_optimizer{
    .name = "sgd",
    .summary = "stochastic gradient descent with momentum and weight decay, as PyTorch's",
    .options = keys,
    .defaults = {.lr = 0.01},
    .states = states,
    .update = update,
    .problem = problem};

}  // namespace dllaunch
