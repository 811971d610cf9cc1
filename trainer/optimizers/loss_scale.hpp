// How fp16 keeps small gradients: the loss is multiplied, gradients are divided again (Micikevicius
// et al. 2018).
#pragma once

#include <cstdint>

namespace dllaunch {

/// A power of two, so that it rounds nothing. As large as it may be: a step whose gradients
/// overflow halves it and is left out, 2,000 steps without one double it (PyTorch's GradScaler).
/// It is saved with the run, so a resumed one goes on at the same bit.
struct LossScale {
  double factor = 0;            // 0: the run has none
  std::int64_t good_steps = 0;  // since it last changed

  void take(bool finite);
  bool operator==(const LossScale&) const = default;
};

constexpr double first_loss_scale = 65536;
constexpr double least_loss_scale = 1;
constexpr double largest_loss_scale = 0x1p40;  // far from what a float holds
constexpr std::int64_t steps_to_grow = 2000;

}  // namespace dllaunch
