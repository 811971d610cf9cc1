#include "trainer/optimizers/loss_scale.hpp"

#include <algorithm>

namespace dllaunch {

void LossScale::take(bool finite) {
  good_steps = finite ? good_steps + 1 : 0;
  if (!finite) {
    factor = std::max(factor / 2, least_loss_scale);
  } else if (good_steps == steps_to_grow) {
    factor = std::min(factor * 2, largest_loss_scale);
    good_steps = 0;
  }
}

}  // namespace dllaunch
