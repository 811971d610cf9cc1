// Stochastic gradient descent in PyTorch's form (torch.optim.SGD, dampening 0):
//   d = g + weight_decay * w;   v = momentum * v + d;   w = w - lr * v      (no v without momentum)
#include "trainer/optimizer.hpp"

namespace dllaunch {
namespace {

std::vector<std::string_view> states(const OptimizerOptions& options) {
  if (options.momentum == 0) return {};
  return {"momentum_buffer"};
}

template <typename Real>
void step(const OptimizerOptions& options, double rate, const ParameterUpdate& slot) {
  const Real lr = static_cast<Real>(rate);
  const Real momentum = static_cast<Real>(options.momentum);
  const Real decay = static_cast<Real>(options.weight_decay);
  Real* w = static_cast<Real*>(slot.weights);
  const Real* g = static_cast<const Real*>(slot.gradients);
  if (slot.states.empty()) {
    for (std::size_t i = 0; i < slot.elements; ++i) w[i] -= lr * (g[i] + decay * w[i]);
    return;
  }
  Real* v = static_cast<Real*>(slot.states[0]);
  for (std::size_t i = 0; i < slot.elements; ++i) {
    v[i] = momentum * v[i] + (g[i] + decay * w[i]);
    w[i] -= lr * v[i];
  }
}

void update(DType type, const OptimizerOptions& options, double lr, const ParameterUpdate& slot) {
  if (type == DType::f64) {
    step<double>(options, lr, slot);
  } else {
    step<float>(options, lr, slot);
  }
}

}  // namespace

extern const OptimizerEntry sgd_optimizer;
const OptimizerEntry sgd_optimizer{
    "sgd", "stochastic gradient descent with momentum and weight decay, as PyTorch's", states,
    update};

}  // namespace dllaunch
