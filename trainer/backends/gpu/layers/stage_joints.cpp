#include "trainer/backends/gpu/layers/stage_joints.hpp"

#include <cassert>
#include <limits>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {
namespace {

std::size_t floats(std::int64_t elements) {
  return static_cast<std::size_t>(elements) * sizeof(float);
}

}  // namespace

StageJoints::StageJoints(const Graph& graph, const StepPlan& plan, int batch, DeviceMemory& memory)
    : memory_(memory),
      batch_(batch),
      input_shape_(plan.nodes.front().shape),
      output_shape_(plan.nodes.back().shape) {
  // The host reads and writes between the passes of this executable, when other arrays have ended.
  const int backward = plan.steps / 2;
  if (graph.joints.output) {
    output_ = memory.add(floats(output_shape_.elements()), backward - 1, backward - 1);
    output_gradient_ = memory.add(floats(output_shape_.elements()), backward, backward);
    found_ = memory.add(sizeof(int));
  }
  if (graph.joints.input) {
    const int last = plan.steps - 1;
    input_gradient_ = memory.add(floats(input_shape_.elements()), last, last);
  }
}

template <typename T>
void StageJoints::give_output(GpuStream stream, const T* output) {
  auto* const to = memory_.at<float>(output_);
  auto* const found = memory_.at<int>(found_);
  check(gpu_clear_later(found, sizeof(int), stream), "clear");
  launch(stream, output_shape_.elements(), ToChannelsFirst<T, float>{output, to, output_shape_});
  launch(stream, present(output_shape_), FindNonFinite<float>{to, found});
}

ForwardResult StageJoints::result(GpuStream stream) const {
  int found = 0;
  check(gpu_copy_later(&found, memory_.at<int>(found_), sizeof found, stream), "copy");
  check(gpu_synchronise(stream), "forward");
  return {.loss_sum = found == 0 ? 0 : std::numeric_limits<double>::quiet_NaN()};
}

void StageJoints::read_output(std::span<float> plain) const {
  const std::size_t bytes = floats(present(output_shape_));
  assert(plain.size_bytes() >= bytes);
  check(gpu_copy(plain.data(), memory_.at<float>(output_), bytes), "output");
}

void StageJoints::set_output_gradient(std::span<const float> plain) const {
  const std::int64_t here = present(output_shape_);
  assert(std::ssize(plain) >= here);
  auto* const to = memory_.at<float>(output_gradient_);
  check(gpu_copy(to, plain.data(), floats(here)), "gradient");
  if (here == output_shape_.elements()) return;
  check(gpu_clear_later(to + here, floats(output_shape_.elements() - here), nullptr), "clear");
}

template <typename T>
void StageJoints::take_output_gradient(GpuStream stream, T* gradient) const {
  launch(stream, output_shape_.elements(),
         ToChannelsLast<float, T>{memory_.at<float>(output_gradient_), gradient, output_shape_,
                                  false});
}

template <typename T>
void StageJoints::read_input_gradient(GpuStream stream, const T* gradient,
                                      std::span<float> plain) const {
  const std::size_t bytes = floats(present(input_shape_));
  assert(plain.size_bytes() >= bytes);
  auto* const to = memory_.at<float>(input_gradient_);
  launch(stream, input_shape_.elements(), ToChannelsFirst<T, float>{gradient, to, input_shape_});
  check(gpu_copy_later(plain.data(), to, bytes, stream), "gradient");
  check(gpu_synchronise(stream), "gradient");
}

template void StageJoints::give_output(GpuStream, const float*);
template void StageJoints::give_output(GpuStream, const BFloat16*);
template void StageJoints::give_output(GpuStream, const Float16*);
template void StageJoints::take_output_gradient(GpuStream, float*) const;
template void StageJoints::take_output_gradient(GpuStream, BFloat16*) const;
template void StageJoints::take_output_gradient(GpuStream, Float16*) const;
template void StageJoints::read_input_gradient(GpuStream, const float*, std::span<float>) const;
template void StageJoints::read_input_gradient(GpuStream, const BFloat16*, std::span<float>) const;
template void StageJoints::read_input_gradient(GpuStream, const Float16*, std::span<float>) const;

}  // namespace dllaunch::gpu
