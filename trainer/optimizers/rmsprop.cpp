// RMSProp (Hinton 2012) in PyTorch's form (torch.optim.RMSprop):
//   d = g + weight_decay * w;   s = alpha * s + (1 - alpha) * d * d
//   centered: a = alpha * a + (1 - alpha) * d, and s - a * a stands for s below
//   u = d / (sqrt(s) + eps);   v = momentum * v + u;   w = w - lr * v     (u without momentum)
#include <cmath>

#include "trainer/optimizers/kernel.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr", "alpha", "eps", "weight_decay", "momentum", "centered"};

std::vector<std::string_view> states(const OptimizerOptions& options) {
  std::vector<std::string_view> names{"square_avg"};
  if (options.momentum != 0) names.emplace_back("momentum_buffer");
  if (options.centered) names.emplace_back("grad_avg");
  return names;
}

template <typename Real, bool momentum, bool centered>
void step(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot) {
  const Real lr = static_cast<Real>(now.lr);
  const Real alpha = static_cast<Real>(options.alpha);
  const Real rest = static_cast<Real>(1 - options.alpha);
  const Real eps = eps_of<Real>(options);
  const Real decay = static_cast<Real>(options.weight_decay);
  const Real keep = static_cast<Real>(options.momentum);
  Real* w = weights_of<Real>(slot);
  const Real* g = gradients_of<Real>(slot);
  Real* s = state_of<Real>(slot, 0);
  Real* v = momentum ? state_of<Real>(slot, 1) : nullptr;
  Real* a = centered ? state_of<Real>(slot, momentum ? 2 : 1) : nullptr;
  for (std::size_t i = 0; i < slot.elements; ++i) {
    const Real d = g[i] + decay * w[i];
    s[i] = alpha * s[i] + rest * d * d;
    Real variance = s[i];
    if constexpr (centered) {
      a[i] = alpha * a[i] + rest * d;
      // Of a gradient that never changes, rounding may leave less than nothing.
      variance = std::max(variance - a[i] * a[i], Real(0));
    }
    const Real u = d / (std::sqrt(variance) + eps);
    if constexpr (momentum) {
      v[i] = keep * v[i] + u;
      w[i] -= lr * v[i];
    } else {
      w[i] -= lr * u;
    }
  }
}

template <typename Real>
void choose(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot) {
  if (options.momentum != 0) {
    return options.centered ? step<Real, true, true>(options, now, slot)
                            : step<Real, true, false>(options, now, slot);
  }
  return options.centered ? step<Real, false, true>(options, now, slot)
                          : step<Real, false, false>(options, now, slot);
}

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) { choose<decltype(zero)>(options, now, slot); });
}

}  // namespace

extern const OptimizerEntry rmsprop_optimizer;
const OptimizerEntry rmsprop_optimizer{
    .name = "rmsprop",
    .summary = "RMSProp, plain or centred, with momentum, as PyTorch's",
    .options = keys,
    .defaults = {.lr = 0.01},
    .states = states,
    .update = update};

}  // namespace dllaunch
