// All kernels of the GPU backends. Compiled by nvcc or hipcc, each with its own gpu_for.hpp, and
// for tests by the host compiler.
#include <array>
#include <cstring>
#include <typeinfo>

#include "gpu_for.hpp"
#include "trainer/backends/gpu/kernels/kernel_list.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/kernels/optimizer_launches.hpp"

namespace dllaunch::gpu {

template <typename Functor>
GpuStatus enqueue(GpuStream stream, std::int64_t count, const Functor& functor) {
  if constexpr (requires { typename Functor::Part; }) {
    return gpu_reduce(stream, count, functor);
  } else if constexpr (requires { Functor::pack; }) {
    const std::int64_t packs = functor.in_packs() ? count / Functor::pack : 0;
    return gpu_for(stream, count - packs * (Functor::pack - 1), InPacks<Functor>{functor, packs});
  } else {
    return gpu_for(stream, count, functor);
  }
}

template <typename Functor>
void launch(GpuStream stream, std::int64_t count, const Functor& functor) {
  const GpuStatus status = enqueue(stream, count, functor);
  if (status != gpu_success) launch_failed(typeid(Functor), status);
}

template <typename... Functors>
std::array<void (*)(), sizeof...(Functors)> launches_of(TypeList<Functors...>) {
  return {reinterpret_cast<void (*)()>(&launch<Functors>)...};
}

// External linkage forces the compiler to instantiate the kernels.
extern const decltype(launches_of(Kernels{})) every_launch;
const decltype(launches_of(Kernels{})) every_launch = launches_of(Kernels{});

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
      Elements<float> of = part.elements;
      if constexpr (Directs<Optimizer>) of.first = of.second = of.third = nullptr;
      launch(part.stream, part.count,
             UpdateBySlot<Step, OfSlot, Writes::weights>{of, step, part.table,
                                                         slots_of<Optimizer>(part)});
    } else {
      launch(part.stream, part.count, UpdateElements<Step>{part.elements, step});
    }
  });
}

template <typename Optimizer>
void direct(const OptimizerOptions& options, const StepInfo& now, const UpdatedPart& part) {
  using OfSlot = typename Optimizer::template OfSlot<float>;
  using Direct = typename Optimizer::template Direct<float>;
  launch(part.stream, part.count,
         UpdateBySlot<Direct, OfSlot, Writes::gradients>{
             part.elements, Optimizer::template direct<float>(options, now), part.table,
             slots_of<Optimizer>(part)});
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
