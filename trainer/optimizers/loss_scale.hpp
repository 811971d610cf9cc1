// Loss scaling for fp16: the loss is multiplied by a factor and gradients are divided by it, so
// that small gradients survive (Micikevicius et al. 2018).
#pragma once

#include <cstdint>

namespace dllaunch {

/// A power of two, so that scaling is exact. A step whose gradients overflow is skipped and halves
/// it; 2,000 steps without overflow double it (PyTorch's GradScaler). Saved with the run, so that a
/// resumed run continues bit for bit.
struct LossScale {
  double factor = 0;            // 0: no loss scaling
  std::int64_t good_steps = 0;  // since the last change

  void take(bool finite);
  bool operator==(const LossScale&) const = default;
};

constexpr double first_loss_scale = 65536;
constexpr double least_loss_scale = 1;
constexpr double largest_loss_scale = 0x1p40;  // far below the largest float
constexpr std::int64_t steps_to_grow = 2000;

}  // namespace dllaunch
