#include "trainer/loss_scaling.hpp"

#include <utility>

namespace dllaunch {

LossScaling::LossScaling(Precision precision, LossScale& scale, ParameterArenas& arenas,
                         Communicator& communicator)
    : scaled_(precision == Precision::fp16),
      scale_(scale),
      arenas_(arenas),
      communicator_(communicator) {
  if (scaled_ && scale_.factor == 0) scale_ = {.factor = first_loss_scale};
}

bool LossScaling::take_back() {
  if (!scaled_) return true;
  bool finite = arenas_.multiply_gradients(1 / scale_.factor);
  if (arenas_.sharded()) {  // of its own parts only, each rank
    std::int64_t bad = finite ? 0 : 1;
    communicator_.wait(communicator_.all_reduce(&bad, 1, DType::i64, ReduceOp::max));
    finite = bad == 0;
  }
  scale_.take(finite);
  skipped_ += finite ? 0 : 1;
  return finite;
}

std::int64_t LossScaling::take_skipped() {
  return std::exchange(skipped_, 0);
}

}  // namespace dllaunch
