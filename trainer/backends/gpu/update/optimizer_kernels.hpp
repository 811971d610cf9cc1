// The optimiser's step on arenas in GPU memory.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/device_arenas.hpp"
#include "trainer/backends/gpu/kernels/optimizer_launches.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/update/step_clock.hpp"

namespace dllaunch::gpu {

/// One kernel over all elements of a part. Optimisers that use norms (LARS, LAMB) wait for them
/// first. Computes in float, even where the host computes in double and rounds.
class GpuOptimizer final : public DeviceOptimizer {
 public:
  /// Allocates a little memory of its own. Throws OutOfGpuMemory.
  GpuOptimizer(const OptimizerEntry& optimizer, const OptimizerOptions& options,
               const ArenaLayout& layout, const std::vector<bool>& one_dimensional,
               GpuStream stream, StepClock& clock);

  static bool has(const OptimizerEntry& optimizer);

  bool multiply_gradients(const ArenaPart& part, float by) override;
  void square_sums(const ArenaPart& part, std::span<SquareSums> sums) override;
  void move_towards(const ArenaPart& part, void* average, double share) override;
  void measure(const StepInfo& now, const ArenaPart& part, std::span<SquareSums> sums) override;
  void update(const StepInfo& now, const ArenaPart& part,
              std::span<const SquareSums> sums) override;

 private:
  void allocate();
  SlotTable slots_from(std::size_t first) const;
  std::pair<std::size_t, std::size_t> slots_within(const ArenaPart& part) const;
  void send_slots(std::span<const std::byte> slots) const;
  UpdatedPart updated(const ArenaPart& part) const;

  const OptimizerLaunches& launches_;
  OptimizerOptions options_;
  std::vector<std::int64_t> starts_;  // of slots in the arenas, then the arenas' end
  std::vector<SlotNorms> norms_;      // by slot
  GpuStream stream_;
  StepClock& clock_;
  DeviceMemory memory_;
  int found_ = -1;
  int offsets_ = -1;
  int slots_ = -1;
  int sums_ = -1;
  int squares_ = -1;
};

}  // namespace dllaunch::gpu
