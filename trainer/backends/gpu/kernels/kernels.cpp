// Every kernel of the GPU backends. nvcc and hipcc compile this file, each with its own
// gpu_for.hpp, and tests do so with the host's compiler.
#include <array>
#include <cstring>

#include "gpu_for.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/image_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/kernels/loss_functors.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
#include "trainer/backends/gpu/kernels/optimizer_launches.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"

namespace dllaunch::gpu {

template <typename Body>
void launch(GpuStream stream, std::int64_t count, const Body& body) {
  gpu_for(stream, count, body);
}

using Count = std::int64_t;

template void launch(GpuStream, Count, const ReluForward<float>&);
template void launch(GpuStream, Count, const ReluForward<BFloat16>&);
template void launch(GpuStream, Count, const ReluForward<Float16>&);
template void launch(GpuStream, Count, const ReluBackward<float>&);
template void launch(GpuStream, Count, const ReluBackward<BFloat16>&);
template void launch(GpuStream, Count, const ReluBackward<Float16>&);
template void launch(GpuStream, Count, const TanhForward<float>&);
template void launch(GpuStream, Count, const TanhForward<BFloat16>&);
template void launch(GpuStream, Count, const TanhForward<Float16>&);
template void launch(GpuStream, Count, const TanhBackward<float>&);
template void launch(GpuStream, Count, const TanhBackward<BFloat16>&);
template void launch(GpuStream, Count, const TanhBackward<Float16>&);
template void launch(GpuStream, Count, const SumOfTwo<float>&);
template void launch(GpuStream, Count, const SumOfTwo<BFloat16>&);
template void launch(GpuStream, Count, const SumOfTwo<Float16>&);
template void launch(GpuStream, Count, const AddBias<float>&);
template void launch(GpuStream, Count, const AddBias<BFloat16>&);
template void launch(GpuStream, Count, const AddBias<Float16>&);
template void launch(GpuStream, Count, const Convert<float, float>&);
template void launch(GpuStream, Count, const Convert<float, BFloat16>&);
template void launch(GpuStream, Count, const Convert<float, Float16>&);
template void launch(GpuStream, Count, const Convert<BFloat16, float>&);
template void launch(GpuStream, Count, const Convert<Float16, float>&);
template void launch(GpuStream, Count, const Convert<BFloat16, BFloat16>&);
template void launch(GpuStream, Count, const Convert<Float16, Float16>&);
template void launch(GpuStream, Count, const Drop<float>&);
template void launch(GpuStream, Count, const Drop<BFloat16>&);
template void launch(GpuStream, Count, const Drop<Float16>&);
template void launch(GpuStream, Count, const ToChannelsLast<float, float>&);
template void launch(GpuStream, Count, const ToChannelsLast<float, BFloat16>&);
template void launch(GpuStream, Count, const ToChannelsLast<float, Float16>&);
template void launch(GpuStream, Count, const ToChannelsLast<BFloat16, BFloat16>&);
template void launch(GpuStream, Count, const ToChannelsLast<Float16, Float16>&);
template void launch(GpuStream, Count, const PrepareImages<float>&);
template void launch(GpuStream, Count, const PrepareImages<BFloat16>&);
template void launch(GpuStream, Count, const PrepareImages<Float16>&);
template void launch(GpuStream, Count, const ToChannelsFirst<float>&);
template void launch(GpuStream, Count, const ToChannelsFirst<BFloat16>&);
template void launch(GpuStream, Count, const ToChannelsFirst<Float16>&);
template void launch(GpuStream, Count, const FindNonFinite<float>&);
template void launch(GpuStream, Count, const FindNonFinite<BFloat16>&);
template void launch(GpuStream, Count, const FindNonFinite<Float16>&);
template void launch(GpuStream, Count, const MaxPoolForward<float>&);
template void launch(GpuStream, Count, const MaxPoolForward<BFloat16>&);
template void launch(GpuStream, Count, const MaxPoolForward<Float16>&);
template void launch(GpuStream, Count, const MaxPoolBackward<float>&);
template void launch(GpuStream, Count, const MaxPoolBackward<BFloat16>&);
template void launch(GpuStream, Count, const MaxPoolBackward<Float16>&);
template void launch(GpuStream, Count, const AvgPoolForward<float>&);
template void launch(GpuStream, Count, const AvgPoolForward<BFloat16>&);
template void launch(GpuStream, Count, const AvgPoolForward<Float16>&);
template void launch(GpuStream, Count, const AvgPoolBackward<float>&);
template void launch(GpuStream, Count, const AvgPoolBackward<BFloat16>&);
template void launch(GpuStream, Count, const AvgPoolBackward<Float16>&);
template void launch(GpuStream, Count, const GlobalAvgPoolForward<float>&);
template void launch(GpuStream, Count, const GlobalAvgPoolForward<BFloat16>&);
template void launch(GpuStream, Count, const GlobalAvgPoolForward<Float16>&);
template void launch(GpuStream, Count, const GlobalAvgPoolBackward<float>&);
template void launch(GpuStream, Count, const GlobalAvgPoolBackward<BFloat16>&);
template void launch(GpuStream, Count, const GlobalAvgPoolBackward<Float16>&);
template void launch(GpuStream, Count, const ZeroPadForward<float>&);
template void launch(GpuStream, Count, const ZeroPadForward<BFloat16>&);
template void launch(GpuStream, Count, const ZeroPadForward<Float16>&);
template void launch(GpuStream, Count, const ZeroPadBackward<float>&);
template void launch(GpuStream, Count, const ZeroPadBackward<BFloat16>&);
template void launch(GpuStream, Count, const ZeroPadBackward<Float16>&);
template void launch(GpuStream, Count, const ChunkMoments<float>&);
template void launch(GpuStream, Count, const ChunkMoments<BFloat16>&);
template void launch(GpuStream, Count, const ChunkMoments<Float16>&);
template void launch(GpuStream, Count, const JoinMoments<double>&);
template void launch(GpuStream, Count, const TakeMoments<double>&);
template void launch(GpuStream, Count, const TakeRunning<double>&);
template void launch(GpuStream, Count, const NormForward<float>&);
template void launch(GpuStream, Count, const NormForward<BFloat16>&);
template void launch(GpuStream, Count, const NormForward<Float16>&);
template void launch(GpuStream, Count, const ChunkSlopes<float>&);
template void launch(GpuStream, Count, const ChunkSlopes<BFloat16>&);
template void launch(GpuStream, Count, const ChunkSlopes<Float16>&);
template void launch(GpuStream, Count, const JoinSums<double>&);
template void launch(GpuStream, Count, const PutSums<double>&);
template void launch(GpuStream, Count, const NormBackward<float, double>&);
template void launch(GpuStream, Count, const NormBackward<BFloat16, double>&);
template void launch(GpuStream, Count, const NormBackward<Float16, double>&);
template void launch(GpuStream, Count, const SoftmaxRows&);
template void launch(GpuStream, Count, const SoftmaxSlopes<float>&);
template void launch(GpuStream, Count, const SoftmaxSlopes<BFloat16>&);
template void launch(GpuStream, Count, const SoftmaxSlopes<Float16>&);
template void launch(GpuStream, Count, const SigmoidRows&);
template void launch(GpuStream, Count, const SigmoidSlopes<float>&);
template void launch(GpuStream, Count, const SigmoidSlopes<BFloat16>&);
template void launch(GpuStream, Count, const SigmoidSlopes<Float16>&);
template void launch(GpuStream, Count, const SquaredRows&);
template void launch(GpuStream, Count, const SquaredSlopes<float>&);
template void launch(GpuStream, Count, const SquaredSlopes<BFloat16>&);
template void launch(GpuStream, Count, const SquaredSlopes<Float16>&);
template void launch(GpuStream, Count, const MultiplyGradients&);
template void launch(GpuStream, Count, const SquareParts<double>&);
template void launch(GpuStream, Count, const JoinSquares<double>&);

namespace {

template <typename Optimizer>
const typename Optimizer::template OfSlot<float>* slots_of(const UpdatedPart& part) {
  return static_cast<const typename Optimizer::template OfSlot<float>*>(part.slots);
}

template <typename Optimizer>
void update(const OptimizerOptions& options, const StepInfo& now, const UpdatedPart& part) {
  Optimizer::template step<float>(options, now, [&]<typename Step>(const Step& step) {
    if constexpr (Measures<Optimizer>) {
      using OfSlot = typename Optimizer::template OfSlot<float>;
      launch(
          part.stream, part.count,
          UpdateBySlot<Step, OfSlot>{part.elements, step, part.table, slots_of<Optimizer>(part)});
    } else {
      launch(part.stream, part.count, UpdateElements<Step>{part.elements, step});
    }
  });
}

template <typename Optimizer>
void direct(const OptimizerOptions& options, const StepInfo& now, const UpdatedPart& part) {
  using OfSlot = typename Optimizer::template OfSlot<float>;
  using Direct = typename Optimizer::template Direct<float>;
  launch(
      part.stream, part.count,
      UpdateBySlot<Direct, OfSlot>{part.elements, Optimizer::template direct<float>(options, now),
                                   part.table, slots_of<Optimizer>(part)});
}

template <typename Optimizer>
std::vector<std::byte> slots(const OptimizerOptions& options, const StepInfo& now,
                             std::span<const SlotNorms> norms) {
  using OfSlot = typename Optimizer::template OfSlot<float>;
  std::vector<std::byte> bytes(norms.size() * sizeof(OfSlot));
  for (std::size_t slot = 0; slot < norms.size(); ++slot) {
    const OfSlot of = Optimizer::template of_slot<float>(options, now, norms[slot]);
    std::memcpy(bytes.data() + slot * sizeof of, &of, sizeof of);
  }
  return bytes;
}

template <typename Optimizer>
OptimizerLaunches launches() {
  OptimizerLaunches of{.name = Optimizer::name, .update = update<Optimizer>};
  if constexpr (Directs<Optimizer>) of.direct = direct<Optimizer>;
  if constexpr (Measures<Optimizer>) of.slots = slots<Optimizer>;
  return of;
}

template <typename... Listed>
std::array<OptimizerLaunches, sizeof...(Listed)> launches_of_optimizers(TypeList<Listed...>) {
  return {launches<Listed>()...};
}

}  // namespace

const OptimizerLaunches* find_optimizer_launches(std::string_view name) {
  static const auto table = launches_of_optimizers(Optimizers{});
  for (const OptimizerLaunches& of : table) {
    if (of.name == name) return &of;
  }
  return nullptr;
}

}  // namespace dllaunch::gpu
