#include "trainer/backends/gpu/layers/loss_layer.hpp"

#include <cassert>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {

LossLayer::LossLayer(const LossChoice& choice, int batch, std::int64_t outputs,
                     DeviceMemory& memory, std::int64_t labels)
    : choice_(choice),
      labels_each_(labels),
      batch_(batch * labels),
      width_(outputs),
      memory_(memory),
      labels_(memory.add(static_cast<std::size_t>(batch_) * sizeof(std::int32_t))),
      values_(memory.add(labels == 1 ? elements(batch) * sizeof(float) : 0)),
      rows_(memory.add(static_cast<std::size_t>(batch_) * sizeof(LossRow<float>))),
      scale_piece_(memory.add(sizeof(float))) {}

void LossLayer::take_targets(GpuStream stream, const Batch& batch) {
  const auto send = [stream](auto* to, const auto& values) {
    check(gpu_copy_later(to, values.data(), values.size_bytes(), stream), "targets");
  };
  if (batch.targets.empty()) {
    auto* const labels = memory_.at<std::int32_t>(labels_);
    send(labels, batch.labels.first(static_cast<std::size_t>(present_)));
    targets_ = {labels, nullptr};
  } else {
    assert(labels_each_ == 1);
    auto* const values = memory_.at<float>(values_);
    send(values, batch.targets.first(elements(present_)));
    targets_ = {nullptr, values};
  }
}

LossInputs LossLayer::inputs() const {
  return {outputs_, width_, targets_, static_cast<float>(choice_.label_smoothing),
          memory_.at<LossRow<float>>(rows_)};
}

void LossLayer::compute(GpuStream stream) {
  if (present_ == 0) return;
  launch(stream, present_, LargestOutputs{inputs()});
  [[maybe_unused]] const bool found = visit_named(
      Losses{}, choice_.name,
      [&]<typename Loss>(const Loss&) { launch(stream, present_, LossRows<Loss>{inputs()}); });
  assert(found);
}

void LossLayer::set_batch(GpuStream stream, const float* outputs, const Batch& batch) {
  outputs_ = outputs;
  present_ = batch.count * labels_each_;
  if (present_ > 0) take_targets(stream, batch);
}

ForwardResult LossLayer::result(GpuStream stream) {
  if (present_ == 0) return {};
  row_losses_.resize(static_cast<std::size_t>(present_));
  check(gpu_copy_later(row_losses_.data(), memory_.at<LossRow<float>>(rows_),
                       row_losses_.size() * sizeof(LossRow<float>), stream),
        "losses");
  check(gpu_synchronise(stream), "forward");
  ForwardResult result;
  for (const LossRow<float>& row : row_losses_) {
    result.loss_sum += row.loss;
    result.correct += row.correct;
  }
  result.loss_sum /= static_cast<double>(labels_each_);
  return result;
}

void LossLayer::set_scale(GpuStream stream, double scale) {
  scale_ = static_cast<float>(scale / static_cast<double>(labels_each_));
  check(gpu_copy_later(memory_.at<float>(scale_piece_), &scale_, sizeof scale_, stream), "scale");
}

template <typename T>
void LossLayer::backward(GpuStream stream, T* grads) {
  visit_named(Losses{}, choice_.name, [&]<typename Loss>(const Loss&) {
    launch(stream, batch_ * width_,
           LossGrads<Loss, T>{inputs(), present_, memory_.at<float>(scale_piece_), grads});
  });
}

template void LossLayer::backward(GpuStream, float*);
template void LossLayer::backward(GpuStream, BFloat16*);
template void LossLayer::backward(GpuStream, Float16*);

}  // namespace dllaunch::gpu
