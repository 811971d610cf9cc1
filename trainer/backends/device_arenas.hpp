// Parameters in memory of the device that computes, and the optimiser's step there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/gradients/arena.hpp"
#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {

/// Elements [first, first + elements) of every arena; pointers are to the first of them.
struct ArenaPart {
  std::size_t first = 0;
  std::size_t elements = 0;
  void* weights = nullptr;
  void* gradients = nullptr;
  std::span<void* const> states = {};  // in the order of OptimizerEntry::states
};

/// OptimizerEntry::measure() and update() for all slots of a part at once. Enqueued behind what the
/// device has been given; what measure() gives is there when it returns.
class DeviceOptimizer {
 public:
  virtual ~DeviceOptimizer() = default;

  /// Gradients of the part times `by`. False: one is no number. There when it returns.
  virtual bool multiply_gradients(const ArenaPart& part, float by) = 0;
  /// Adds each slot's sums of squares within the part to sums[slot].
  virtual void measure(const StepInfo& now, const ArenaPart& part, std::span<SquareSums> sums) = 0;
  /// `sums` of the whole slots, over all ranks; empty: the optimiser does not measure.
  virtual void update(const StepInfo& now, const ArenaPart& part,
                      std::span<const SquareSums> sums) = 0;
};

/// Outlives what it makes, but for memory, which lives by itself.
class DeviceArenas {
 public:
  virtual ~DeviceArenas() = default;

  /// Zeroed. std::bad_alloc: the device has no such room.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;
  /// From and to the host or the device, as the addresses say; done when it returns.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

  /// one_dimensional[slot], as ParameterUpdate has it. nullptr: it has no kernels for this
  /// optimiser, whose parameters lie on the host then.
  virtual std::unique_ptr<DeviceOptimizer> optimizer(const OptimizerEntry& optimizer,
                                                     const OptimizerOptions& options,
                                                     const ArenaLayout& layout,
                                                     const std::vector<bool>& one_dimensional) = 0;
};

}  // namespace dllaunch
