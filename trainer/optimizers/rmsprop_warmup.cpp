// RMSProp that turns into SGD (Akiba, Suzuki and Fukuda 2017, arXiv 1711.04325), e epochs into the
// training:
//   d = g + weight_decay * w;   s = alpha * s + (1 - alpha) * d * d
//   D = momentum * D - (a_sgd + a_rms / (sqrt(s) + eps)) * d;   w = w + lr * D
//   a_sgd = exp(2 * (e - center) / period) / 2              e < center
//         = 1/2 + (e - center) / period                     e < center + period / 2
//         = 1                                               after
//   a_rms = (1 - a_sgd) * rmsprop_lr / lr
//
// Form and constants agree with two public re-implementations. Not verified against the paper: the
// slope of the straight piece. Theirs is 2 / period in places, where a_sgd would jump from 3/2 to
// 1; only 1 / period joins the curve at both ends. Nor is the weight decay, a part of the gradient
// here as in SGD.
#include <cmath>

#include "trainer/optimizers/kernel.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view keys[] = {"lr",         "momentum",     "alpha",         "eps",
                                     "rmsprop_lr", "center_epoch", "period_epochs", "weight_decay"};

std::vector<std::string_view> states(const OptimizerOptions&) {
  return {"square_avg", "momentum_buffer"};
}

double share_of_sgd(const OptimizerOptions& options, double epoch) {
  const double past = (epoch - options.center_epoch) / options.period_epochs;
  return std::clamp(past < 0 ? std::exp(2 * past) / 2 : 0.5 + past, 0.0, 1.0);
}

template <typename Real>
void step(const OptimizerOptions& options, const StepInfo& now, const ParameterUpdate& slot) {
  const double share = share_of_sgd(options, now.epoch);
  // A schedule that has come to 0 leaves nothing to do.
  const double rest_share = now.lr > 0 ? (1 - share) * options.rmsprop_lr / now.lr : 0;
  const Real lr = static_cast<Real>(now.lr);
  const Real plain = static_cast<Real>(share);
  const Real scaled = static_cast<Real>(rest_share);
  const Real momentum = static_cast<Real>(options.momentum);
  const Real alpha = static_cast<Real>(options.alpha);
  const Real rest = static_cast<Real>(1 - options.alpha);
  const Real eps = eps_of<Real>(options);
  const Real decay = static_cast<Real>(options.weight_decay);
  Real* w = weights_of<Real>(slot);
  const Real* g = gradients_of<Real>(slot);
  Real* s = state_of<Real>(slot, 0);
  Real* v = state_of<Real>(slot, 1);  // -D
  for (std::size_t i = 0; i < slot.elements; ++i) {
    const Real d = g[i] + decay * w[i];
    s[i] = alpha * s[i] + rest * d * d;
    v[i] = momentum * v[i] + (plain + scaled / (std::sqrt(s[i]) + eps)) * d;
    w[i] -= lr * v[i];
  }
}

void update(DType type, const OptimizerOptions& options, const StepInfo& now,
            const ParameterUpdate& slot) {
  with_type(type, [&](auto zero) { step<decltype(zero)>(options, now, slot); });
}

}  // namespace

extern const OptimizerEntry rmsprop_warmup_optimizer;
const OptimizerEntry rmsprop_warmup_optimizer{
    .name = "rmsprop-warmup",
    .summary = "RMSProp that turns into SGD with momentum (Akiba et al. 2017)",
    .options = keys,
    .defaults = {.lr = 0.1, .momentum = 0.9},
    .states = states,
    .update = update};

}  // namespace dllaunch
