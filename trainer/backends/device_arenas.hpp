// Parameters in device memory, and the optimiser's step there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/gradients/arena.hpp"
#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {

/// Elements [first, first + elements) of every arena; pointers are to element `first`.
struct ArenaPart {
  std::size_t first = 0;
  std::size_t elements = 0;
  void* weights = nullptr;
  void* gradients = nullptr;
  std::span<void* const> states = {};  // in the order of OptimizerEntry::states
};

/// The functions of optimizer.hpp for all slots of a part at once. Enqueued in device
/// order; functions that return results block for them.
class DeviceOptimizer {
 public:
  virtual ~DeviceOptimizer() = default;

  /// Multiplies the part's gradients by `by`. Returns whether all are finite.
  virtual bool multiply_gradients(const ArenaPart& part, float by) = 0;
  /// Adds each slot's sums of squares within the part to sums[slot].
  virtual void square_sums(const ArenaPart& part, std::span<SquareSums> sums) = 0;
  /// average += share * (weights - average) for the part's weights.
  virtual void move_towards(const ArenaPart& part, void* average, double share) = 0;
  /// As square_sums(), of update directions if the optimiser replaces gradients by them.
  virtual void measure(const StepInfo& now, const ArenaPart& part, std::span<SquareSums> sums) = 0;
  /// `sums`: of whole slots, over all ranks; empty if the optimiser does not measure.
  virtual void update(const StepInfo& now, const ArenaPart& part,
                      std::span<const SquareSums> sums) = 0;
};

/// Must outlive its optimisers, but not its memory.
class DeviceArenas {
 public:
  virtual ~DeviceArenas() = default;

  /// Returns zeroed device memory. Throws std::bad_alloc.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  /// Throws std::bad_alloc like allocate(), for an arena that a communicator could not allocate.
  virtual void refuse(std::size_t bytes) const = 0;
  /// Returns the free bytes of the device's memory.
  virtual std::size_t free_bytes() const = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;
  /// Copies between host and device, in the direction that the addresses imply; blocking.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

  /// Returns nullptr if the device has no kernels for this optimiser: its parameters must then be
  /// in host memory. one_dimensional[slot]: see ParameterUpdate.
  virtual std::unique_ptr<DeviceOptimizer> optimizer(const OptimizerEntry& optimizer,
                                                     const OptimizerOptions& options,
                                                     const ArenaLayout& layout,
                                                     const std::vector<bool>& one_dimensional) = 0;
};

}  // namespace dllaunch
