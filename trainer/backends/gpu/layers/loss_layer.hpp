// The loss and its gradient, computed on the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/kernels/loss_functors.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {

class LossLayer {
 public:
  /// Reserves its arrays in `memory`, which must outlive it. An image has `labels` rows of outputs;
  /// its loss is their mean.
  LossLayer(const LossChoice& choice, int batch, std::int64_t outputs, DeviceMemory& memory,
            std::int64_t labels = 1);

  /// The forward pass, in three parts, over the rows of the first batch.count images, of outputs
  /// [batch, labels, outputs] on the device. Only compute() can be captured: it only launches
  /// kernels, always the same for a given count and kind of targets. result() waits for them. NaN
  /// and infinity pass through.
  void set_batch(GpuStream stream, const float* outputs, const Batch& batch);
  void compute(GpuStream stream);
  ForwardResult result(GpuStream stream);

  /// backward() writes d(scale * loss_sum)/d(outputs) of the latest forward pass into `grads`
  /// [batch, labels, outputs], zero for absent rows. It only launches kernels; set_scale() comes
  /// first.
  void set_scale(GpuStream stream, double scale);
  template <typename T>
  void backward(GpuStream stream, T* grads);

 private:
  void take_targets(GpuStream stream, const Batch& batch);
  LossInputs inputs() const;
  std::size_t elements(std::int64_t rows) const { return static_cast<std::size_t>(rows * width_); }

  LossChoice choice_;
  std::int64_t labels_each_;
  std::int64_t batch_;  // rows, as below
  std::int64_t width_;
  DeviceMemory& memory_;
  int labels_;
  int values_;
  int rows_;
  int scale_piece_;
  float scale_ = 1;
  const float* outputs_ = nullptr;
  RowTargets targets_ = {};
  std::int64_t present_ = 0;
  std::vector<LossRow<float>> row_losses_;  // copied from the device
};

}  // namespace dllaunch::gpu
