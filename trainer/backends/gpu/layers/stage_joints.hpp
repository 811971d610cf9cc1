// What a stage of a pipeline exchanges with its neighbours through the host: dense floats, channels
// first.
#pragma once

#include <cstdint>
#include <span>

#include "gpu_api.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

class StageJoints {
 public:
  /// Reserves arrays for the joints that the graph has in `memory`, which must outlive it. `batch`:
  /// rows of a full one.
  StageJoints(const Graph& graph, const StepPlan& plan, int batch, DeviceMemory& memory);

  /// The end of a forward pass, in three parts. Only give_output() can be captured: it launches the
  /// same kernels for a given count. result() waits for them; the loss is 0, or NaN if an output
  /// is not finite.
  void set_count(int count) { count_ = count; }
  template <typename T>
  void give_output(GpuStream stream, const T* output);
  ForwardResult result(GpuStream stream) const;
  /// Until the backward pass.
  void read_output(std::span<float> plain) const;

  void set_output_gradient(std::span<const float> plain) const;
  /// Writes it, zero for absent rows, to the gradient of the last node. Only launches kernels.
  template <typename T>
  void take_output_gradient(GpuStream stream, T* gradient) const;
  /// `gradient`: of node 0. Blocks.
  template <typename T>
  void read_input_gradient(GpuStream stream, const T* gradient, std::span<float> plain) const;

 private:
  /// Elements of the present rows.
  std::int64_t present(const Volume& shape) const { return shape.elements() / batch_ * count_; }

  DeviceMemory& memory_;
  std::int64_t batch_;
  Volume input_shape_;
  Volume output_shape_;
  int output_ = -1;  // float; likewise the next two
  int output_gradient_ = -1;
  int input_gradient_ = -1;
  int found_ = -1;  // int: an output is not finite
  std::int64_t count_ = 0;
};

}  // namespace dllaunch::gpu
