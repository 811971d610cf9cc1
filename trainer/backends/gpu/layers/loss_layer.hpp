// The loss and its slopes where the outputs are.
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
  /// Its arrays are among `memory`'s, which outlives it.
  LossLayer(const LossChoice& choice, int batch, std::int64_t outputs, DeviceMemory& memory);

  /// forward() is these three, of the first batch.count rows of outputs [batch, outputs] on the
  /// device: only the second is kernels alone, the same for as many rows and the same kind of
  /// targets. The result is there when the third returns; NaN and infinity pass through.
  void take(GpuStream stream, const float* outputs, const Batch& batch);
  void compute(GpuStream stream);
  ForwardResult result(GpuStream stream);

  /// d(scale * loss_sum)/d(outputs) of the latest forward into `slopes` [batch, outputs], zero for
  /// rows that were absent: kernels alone, the scale being there already.
  void set_scale(GpuStream stream, double scale);
  template <typename T>
  void backward(GpuStream stream, T* slopes);

 private:
  void take_targets(GpuStream stream, const Batch& batch);
  LossInputs inputs() const;
  std::size_t elements(std::int64_t rows) const { return static_cast<std::size_t>(rows * width_); }

  LossChoice choice_;
  std::int64_t batch_;
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
  std::vector<LossRow<float>> row_losses_;  // as they came from the device
};

}  // namespace dllaunch::gpu
