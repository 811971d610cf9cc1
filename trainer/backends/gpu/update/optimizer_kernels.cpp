#include "trainer/backends/gpu/update/optimizer_kernels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {
namespace {

Elements<float> elements_of_part(const ArenaPart& part) {
  const auto state = [&](std::size_t i) {
    return i < part.states.size() ? static_cast<float*>(part.states[i]) : nullptr;
  };
  return {static_cast<float*>(part.weights), static_cast<float*>(part.gradients), state(0),
          state(1), state(2)};
}

}  // namespace

bool GpuOptimizer::has(const OptimizerEntry& optimizer) {
  return find_optimizer_launches(optimizer.name) != nullptr;
}

GpuOptimizer::GpuOptimizer(const OptimizerEntry& optimizer, const OptimizerOptions& options,
                           const ArenaLayout& layout, const std::vector<bool>& one_dimensional,
                           GpuStream stream, StepClock& clock)
    : launches_(*find_optimizer_launches(optimizer.name)),
      options_(options),
      starts_(layout.offset.begin(), layout.offset.end()),
      stream_(stream),
      clock_(clock) {
  starts_.push_back(static_cast<std::int64_t>(layout.total));
  found_ = memory_.add(sizeof(int));
  const std::size_t slots = layout.offset.size();
  offsets_ = memory_.add(starts_.size() * sizeof(std::int64_t));
  for (const bool flat : one_dimensional) norms_.push_back({.one_dimensional = flat});
  std::vector<std::byte> unmeasured;
  if (launches_.slots != nullptr) unmeasured = launches_.slots(options_, {}, norms_);
  slots_ = memory_.add(unmeasured.size());
  sums_ = memory_.add(slots * static_cast<std::size_t>(square_parts) * sizeof(Squares<double>));
  squares_ = memory_.add(slots * sizeof(Squares<double>));
  allocate();
  check(gpu_copy(memory_.at<std::int64_t>(offsets_), starts_.data(), memory_.bytes(offsets_)),
        "copy");
  if (!unmeasured.empty()) send_slots(unmeasured);
}

void GpuOptimizer::allocate() {
  const std::size_t bytes = memory_.place();
  if (memory_.allocate() == gpu_success) return;
  throw OutOfGpuMemory(
      fmt::format("the optimiser needs {} bytes of GPU memory, which are not free", bytes));
}

bool GpuOptimizer::multiply_gradients(const ArenaPart& part, float by) {
  clock_.update_begins();
  auto* const found = memory_.at<int>(found_);
  check(gpu_clear_later(found, sizeof(int), stream_), "clear");
  launch(stream_, static_cast<std::int64_t>(part.elements),
         MultiplyGradients{static_cast<float*>(part.gradients), by, found});
  clock_.update_ended();  // in case fp16 skips this step
  int here = 0;
  check(gpu_copy_later(&here, found, sizeof(int), stream_), "copy");
  check(gpu_synchronise(stream_), "gradients");
  return here == 0;
}

void GpuOptimizer::send_slots(std::span<const std::byte> slots) const {
  check(gpu_copy_later(memory_.at<std::byte>(slots_), slots.data(), slots.size(), stream_), "copy");
  check(gpu_synchronise(stream_), "copy");
}

UpdatedPart GpuOptimizer::updated(const ArenaPart& part) const {
  UpdatedPart all{.stream = stream_,
                  .count = static_cast<std::int64_t>(part.elements),
                  .elements = elements_of_part(part)};
  if (launches_.slots == nullptr) return all;
  all.table = slots_from(part.first);
  all.slots = memory_.at<std::byte>(slots_);
  return all;
}

SlotTable GpuOptimizer::slots_from(std::size_t first) const {
  return {memory_.at<std::int64_t>(offsets_), static_cast<std::int64_t>(norms_.size()),
          static_cast<std::int64_t>(first)};
}

/// Returns the range [first, end) of slots that overlap with a part.
std::pair<std::size_t, std::size_t> GpuOptimizer::slots_within(const ArenaPart& part) const {
  const auto first = static_cast<std::int64_t>(part.first);
  const auto end = static_cast<std::int64_t>(part.first + part.elements);
  const auto begin = std::upper_bound(starts_.begin(), starts_.end() - 1, first);
  const auto behind = std::lower_bound(starts_.begin(), starts_.end() - 1, end);
  const auto index = [this](auto at) { return static_cast<std::size_t>(at - starts_.begin()); };
  return {begin == starts_.begin() ? 0 : index(begin) - 1, index(behind)};
}

void GpuOptimizer::measure(const StepInfo& now, const ArenaPart& part, std::span<SquareSums> sums) {
  clock_.update_begins();
  if (launches_.direct != nullptr) launches_.direct(options_, now, updated(part));
  square_sums(part, sums);
}

void GpuOptimizer::move_towards(const ArenaPart& part, void* average, double share) {
  launch(stream_, static_cast<std::int64_t>(part.elements),
         MoveTowards{static_cast<float*>(average), static_cast<const float*>(part.weights),
                     static_cast<float>(share)});
}

void GpuOptimizer::square_sums(const ArenaPart& part, std::span<SquareSums> sums) {
  clock_.update_begins();
  const Elements<float> elements = elements_of_part(part);
  const SlotTable table = slots_from(part.first);
  const auto [begin, end] = slots_within(part);
  const auto slots = static_cast<std::int64_t>(end - begin);
  auto* const parted = memory_.at<Squares<double>>(sums_);
  auto* const joined = memory_.at<Squares<double>>(squares_);
  launch(stream_, slots * square_parts,
         SquareParts<double>{elements.weights, elements.gradients,
                             static_cast<std::int64_t>(part.elements), table,
                             static_cast<std::int64_t>(begin), parted});
  launch(stream_, slots, JoinSquares<double>{parted, joined});
  std::vector<Squares<double>> here(end - begin);
  check(gpu_copy_later(here.data(), joined, here.size() * sizeof here[0], stream_), "norms");
  check(gpu_synchronise(stream_), "norms");
  for (std::size_t slot = begin; slot < end; ++slot) {
    sums[slot].weights += here[slot - begin].weights;
    sums[slot].gradients += here[slot - begin].gradients;
  }
}

void GpuOptimizer::update(const StepInfo& now, const ArenaPart& part,
                          std::span<const SquareSums> sums) {
  clock_.update_begins();
  if (launches_.slots != nullptr) {
    for (std::size_t slot = 0; slot < norms_.size(); ++slot) {
      norms_[slot].weights = std::sqrt(sums[slot].weights);
      norms_[slot].gradients = std::sqrt(sums[slot].gradients);
    }
    send_slots(launches_.slots(options_, now, norms_));
  }
  launches_.update(options_, now, updated(part));
  clock_.update_ended();
}

}  // namespace dllaunch::gpu
