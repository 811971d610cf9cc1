// LAMB (You et al. 2020, arXiv 1904.00962):
//   m = b1 * m + (1 - b1) * g;   v = b2 * v + (1 - b2) * g * g
//   u = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay * w
//   w = w - lr * |w| / |u| * u                            |w| / |u| = 1 where one of them is 0
// Biases and parameters of batch-norm: no ratio, no decay.
//
// The norm is taken as it is (phi of the paper is the identity); this and eps 1e-6 are not verified
// against the paper.
#include "trainer/optimizers/adam_moments.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr", "betas", "eps", "weight_decay"};

/// Few enough to be in the cache still when they are measured: memory is read once.
constexpr std::size_t chunk = 1024;

/// Gradients become u.
template <typename Real>
SquareSums direct(const OptimizerOptions& options, const StepInfo& now,
                  const ParameterUpdate& slot) {
  const BiasCorrection correction(options, now.step);
  const Real b1 = static_cast<Real>(options.betas[0]);
  const Real b2 = static_cast<Real>(options.betas[1]);
  const Real rest1 = static_cast<Real>(1 - options.betas[0]);
  const Real rest2 = static_cast<Real>(1 - options.betas[1]);
  const Real first = static_cast<Real>(1 / correction.first);
  const Real second = static_cast<Real>(1 / correction.second);
  const Real eps = eps_of<Real>(options);
  const Real decay = static_cast<Real>(slot.one_dimensional ? 0 : options.weight_decay);
  const Real* w = weights_of<Real>(slot);
  Real* g = gradients_of<Real>(slot);
  Real* m = state_of<Real>(slot, 0);
  Real* v = state_of<Real>(slot, 1);
  SquareSums sums;
  for (std::size_t begin = 0; begin < slot.elements; begin += chunk) {
    const std::size_t end = std::min(begin + chunk, slot.elements);
    for (std::size_t i = begin; i < end; ++i) {
      m[i] = b1 * m[i] + rest1 * g[i];
      v[i] = b2 * v[i] + rest2 * g[i] * g[i];
      g[i] = m[i] * first / (std::sqrt(v[i] * second) + eps) + decay * w[i];
    }
    if (slot.one_dimensional) continue;
    sums.weights += sum_of_squares(w + begin, end - begin);
    sums.gradients += sum_of_squares(g + begin, end - begin);
  }
  return sums;
}

SquareSums measure(DType type, const OptimizerOptions& options, const StepInfo& now,
                   const ParameterUpdate& slot) {
  return with_type(type, [&](auto zero) { return direct<decltype(zero)>(options, now, slot); });
}

/// What a step is worth beside the weights it changes, 1 where there is nothing to compare.
double trust_ratio(double weight_norm, double step_norm) {
  return weight_norm > 0 && step_norm > 0 ? weight_norm / step_norm : 1;
}

template <typename Real>
void step(const StepInfo& now, const ParameterUpdate& slot) {
  const Real rate = static_cast<Real>(now.lr * trust_ratio(slot.weight_norm, slot.gradient_norm));
  Real* w = weights_of<Real>(slot);
  const Real* u = gradients_of<Real>(slot);
  for (std::size_t i = 0; i < slot.elements; ++i) w[i] -= rate * u[i];
}

void update(DType type, const OptimizerOptions&, const StepInfo& now, const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) { step<decltype(zero)>(now, slot); });
}

}  // namespace

extern const OptimizerEntry lamb_optimizer;
const OptimizerEntry lamb_optimizer{
    .name = "lamb",
    .summary = "LAMB: Adam, each layer's step in proportion to its weights (You et al. 2020)",
    .options = keys,
    .defaults = {.lr = 0.001, .eps = 1e-6},
    .states = adam_states,
    .update = update,
    .measure = measure,
    .directs = true};

}  // namespace dllaunch
