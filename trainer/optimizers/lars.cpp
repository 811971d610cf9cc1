// LARS (You, Gitman and Ginsburg 2017, arXiv 1708.03888):
//   local = eta * |w| / (|g| + weight_decay * |w|)        1 where one of the norms is 0
//   v = momentum * v + lr * local * (g + weight_decay * w);   w = w - v
// `lr_in_momentum: false` is the form of Google's MLPerf entries, called unscaled (not verified
// against the paper that describes it, arXiv 1909.09756):
//   v = momentum * v + local * (g + weight_decay * w);        w = w - lr * v
// Biases and parameters of batch-norm: local = 1, no decay.
//
// With the rate inside, a change of the rate reaches the old part of v only by and by. Horovod's
// momentum correction (Goyal et al. 2017, remark 2) multiplies the momentum of such a step by
// lr / previous lr.
#include <cmath>

#include "trainer/optimizers/kernel.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr",           "momentum",       "trust_coefficient",
                                     "weight_decay", "lr_in_momentum", "momentum_correction"};

std::vector<std::string_view> states(const OptimizerOptions& options) {
  if (options.momentum == 0) return {};
  return {"momentum_buffer"};
}

SquareSums measure(DType type, const OptimizerOptions&, const StepInfo&,
                   const ParameterUpdate& slot) {
  if (slot.one_dimensional) return {};
  return with_type(type, [&](auto zero) -> SquareSums {
    using Real = decltype(zero);
    return {sum_of_squares(weights_of<Real>(slot), slot.elements),
            sum_of_squares(gradients_of<Real>(slot), slot.elements)};
  });
}

double local_rate(const OptimizerOptions& options, const ParameterUpdate& slot) {
  if (slot.one_dimensional || !(slot.weight_norm > 0) || !(slot.gradient_norm > 0)) return 1;
  return options.trust_coefficient *
         (slot.weight_norm / (slot.gradient_norm + options.weight_decay * slot.weight_norm));
}

double kept(const OptimizerOptions& options, const StepInfo& now) {
  const bool corrected = options.momentum_correction && now.previous_lr > 0;
  return corrected ? options.momentum * (now.lr / now.previous_lr) : options.momentum;
}

template <typename Real>
void step(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot) {
  const double local = local_rate(options, slot);
  const bool inside = options.lr_in_momentum;
  const Real factor = static_cast<Real>(inside ? now.lr * local : local);
  const Real outside = static_cast<Real>(inside ? 1 : now.lr);
  const Real momentum = static_cast<Real>(kept(options, now));
  const Real decay = static_cast<Real>(slot.one_dimensional ? 0 : options.weight_decay);
  Real* w = weights_of<Real>(slot);
  const Real* g = gradients_of<Real>(slot);
  if (slot.states.empty()) {
    const Real rate = outside * factor;
    for (std::size_t i = 0; i < slot.elements; ++i) w[i] -= rate * (g[i] + decay * w[i]);
    return;
  }
  Real* v = state_of<Real>(slot, 0);
  for (std::size_t i = 0; i < slot.elements; ++i) {
    v[i] = momentum * v[i] + factor * (g[i] + decay * w[i]);
    w[i] -= outside * v[i];
  }
}

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) { step<decltype(zero)>(options, now, slot); });
}

std::string_view problem(const OptimizerOptions& options) {
  return options.momentum_correction && !options.lr_in_momentum
             ? "momentum_correction is for lr_in_momentum: true; outside it, the rate needs none"
             : "";
}

}  // namespace

extern const OptimizerEntry lars_optimizer;
const OptimizerEntry lars_optimizer{
    .name = "lars",
    .summary = "LARS: each layer's step in proportion to its weights (You et al. 2017)",
    .options = keys,
    .defaults = {.lr = 0.1, .momentum = 0.9},
    .states = states,
    .update = update,
    .measure = measure,
    .problem = problem};

}  // namespace dllaunch
