#include "trainer/session/loss_scaling.hpp"

#include <utility>

#include <fmt/core.h>

namespace dllaunch {

LossScaling::LossScaling(Precision precision, LossScale& scale, ParameterArenas& arenas,
                         Communicator& communicator, bool staged)
    : scaled_(precision == Precision::fp16),
      apart_(staged || arenas.sharded()),
      scale_(scale),
      arenas_(arenas),
      communicator_(communicator) {
  if (scaled_ && scale_.factor == 0) scale_ = {.factor = first_loss_scale};
}

bool LossScaling::take_back() {
  if (!scaled_) return true;
  bool finite = arenas_.multiply_gradients(1 / scale_.factor);
  if (apart_) {
    std::int64_t bad = finite ? 0 : 1;
    communicator_.wait(communicator_.all_reduce(&bad, 1, DType::i64, ReduceOp::max));
    finite = bad == 0;
  }
  scale_.take(finite);
  skipped_ += finite ? 0 : 1;
  return finite;
}

std::optional<Error> LossScaling::begin_update(const StepInfo& now) {
  const bool last = scaled_ && scale_.factor <= least_loss_scale;
  if (take_back()) {
    arenas_.begin_update(now);
  } else if (last) {
    return Error{
        ErrorKind::unsatisfiable,
        fmt::format("gradients of step {} are too large for fp16, with a loss scale of {:g}",
                    now.step, least_loss_scale),
        "use precision bf16 or fp32, or a smaller optimizer.lr"};
  }
  return std::nullopt;
}

void LossScaling::tell(EpochEvent& event) {
  if (!scaled_) return;
  event.loss_scale = scale_.factor;
  event.skipped_steps = std::exchange(skipped_, 0);
}

}  // namespace dllaunch
