// The kernel launches of each optimiser in the table. Compiled in kernels.cpp, which does not
// compile if an optimiser has no kernels.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/gpu/kernels/optimizer_functors.hpp"

namespace dllaunch::gpu {

/// A part of the arenas on the device.
struct UpdatedPart {
  GpuStream stream = nullptr;
  std::int64_t count = 0;
  Elements<float> elements = {};
  // Only for optimisers that measure:
  SlotTable table = {};
  const void* slots = nullptr;  // OptimizerLaunches::slots(), on the device
};

struct OptimizerLaunches {
  std::string_view name = {};
  void (*update)(const OptimizerOptions& options, const StepInfo& now,
                 const UpdatedPart& part) = nullptr;
  /// nullptr: the optimiser does not replace gradients before they are measured.
  void (*direct)(const OptimizerOptions& options, const StepInfo& now,
                 const UpdatedPart& part) = nullptr;
  /// Returns the coefficients of each parameter, as an array. nullptr: the optimiser does not
  /// measure.
  std::vector<std::byte> (*slots)(const OptimizerOptions& options, const StepInfo& now,
                                  std::span<const SlotNorms> norms) = nullptr;
};

/// Returns nullptr if there is no such optimiser.
const OptimizerLaunches* find_optimizer_launches(std::string_view name);

}  // namespace dllaunch::gpu
