#include "trainer/backends/gpu/layers/loss_layer.hpp"

#include <cassert>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/losses/loss.hpp"

namespace dllaunch::gpu {

LossLayer::LossLayer(const LossChoice& choice, int batch, std::int64_t outputs,
                     DeviceMemory& memory)
    : choice_(choice),
      kernels_(choice.name == "softmax_cross_entropy"   ? Kernels::softmax
               : choice.name == "sigmoid_cross_entropy" ? Kernels::sigmoid
               : choice.name == "mean_squared_error"    ? Kernels::squared
                                                        : Kernels::none),
      batch_(batch),
      width_(outputs),
      memory_(memory),
      labels_(memory.add(static_cast<std::size_t>(batch) * sizeof(std::int32_t))),
      values_(memory.add(elements(batch) * sizeof(float))),
      rows_(memory.add(static_cast<std::size_t>(batch) * sizeof(LossRow))),
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
    auto* const values = memory_.at<float>(values_);
    send(values, batch.targets.first(elements(present_)));
    targets_ = {nullptr, values};
  }
}

void LossLayer::compute(GpuStream stream) {
  if (present_ == 0) return;
  auto* const rows = memory_.at<LossRow>(rows_);
  const auto smoothing = static_cast<float>(choice_.label_smoothing);
  switch (kernels_) {
    case Kernels::softmax:
      assert(targets_.labels != nullptr);
      return launch(stream, present_, SoftmaxRows{outputs_, width_, targets_, smoothing, rows});
    case Kernels::sigmoid:
      return launch(stream, present_, SigmoidRows{outputs_, width_, targets_, smoothing, rows});
    case Kernels::squared:
      return launch(stream, present_, SquaredRows{outputs_, width_, targets_, rows});
    case Kernels::none:
      return;
  }
}

ForwardResult LossLayer::forward_on_host(GpuStream stream, const Batch& batch) {
  std::vector<float> here(elements(present_));
  check(gpu_copy_later(here.data(), outputs_, here.size() * sizeof(float), stream), "outputs");
  check(gpu_synchronise(stream), "forward");
  host_slopes_.assign(here.size(), 0);
  return evaluate_loss(choice_, batch, std::vector<double>(here.begin(), here.end()), host_slopes_);
}

void LossLayer::take(GpuStream stream, const float* outputs, const Batch& batch) {
  outputs_ = outputs;
  present_ = batch.count;
  if (has_kernels() && present_ > 0) take_targets(stream, batch);
}

ForwardResult LossLayer::result(GpuStream stream, const Batch& batch) {
  if (present_ == 0) return {};
  if (!has_kernels()) return forward_on_host(stream, batch);
  row_losses_.resize(static_cast<std::size_t>(present_));
  check(gpu_copy_later(row_losses_.data(), memory_.at<LossRow>(rows_),
                       row_losses_.size() * sizeof(LossRow), stream),
        "losses");
  check(gpu_synchronise(stream), "forward");
  ForwardResult result;
  for (const LossRow& row : row_losses_) {
    result.loss_sum += row.loss;
    result.correct += row.right;
  }
  return result;
}

void LossLayer::set_scale(GpuStream stream, double scale) {
  scale_ = static_cast<float>(scale);
  check(gpu_copy_later(memory_.at<float>(scale_piece_), &scale_, sizeof scale_, stream), "scale");
}

template <typename T>
void LossLayer::backward(GpuStream stream, T* slopes) {
  const std::int64_t all = batch_ * width_;
  const auto* const by = memory_.at<float>(scale_piece_);
  const auto smoothing = static_cast<float>(choice_.label_smoothing);
  switch (kernels_) {
    case Kernels::softmax:
      return launch(stream, all,
                    SoftmaxSlopes<T>{outputs_, width_, targets_, smoothing,
                                     memory_.at<LossRow>(rows_), present_, by, slopes});
    case Kernels::sigmoid:
      return launch(stream, all,
                    SigmoidSlopes<T>{outputs_, width_, targets_, smoothing, present_, by, slopes});
    case Kernels::squared:
      return launch(stream, all,
                    SquaredSlopes<T>{outputs_, width_, targets_, present_, by, slopes});
    case Kernels::none:
      break;
  }
  std::vector<float> here(static_cast<std::size_t>(all));
  for (std::size_t i = 0; i < elements(present_); ++i) {
    here[i] = static_cast<float>(double{scale_} * host_slopes_[i]);
  }
  auto* const values = memory_.at<float>(values_);
  check(gpu_copy_later(values, here.data(), here.size() * sizeof(float), stream), "slopes");
  check(gpu_synchronise(stream), "slopes");
  launch(stream, all, Convert<float, T>{values, slopes, false});
}

template void LossLayer::backward(GpuStream, float*);
template void LossLayer::backward(GpuStream, BFloat16*);
template void LossLayer::backward(GpuStream, Float16*);

}  // namespace dllaunch::gpu
