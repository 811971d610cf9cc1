// The launches of each optimiser of the table. They are compiled with the kernels, in kernels.cpp:
// a row of the table has its kernels or the compiler stops.
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
  // Of optimisers that measure:
  SlotTable table = {};
  const void* slots = nullptr;  // what OptimizerLaunches::slots() gave, on the device
};

struct OptimizerLaunches {
  std::string_view name = {};
  void (*update)(const OptimizerOptions& options, const StepInfo& now,
                 const UpdatedPart& part) = nullptr;
  /// nullptr: it measures gradients as they are, or not at all.
  void (*direct)(const OptimizerOptions& options, const StepInfo& now,
                 const UpdatedPart& part) = nullptr;
  /// nullptr: it does not measure. What differs between parameters, one after the other.
  std::vector<std::byte> (*slots)(const OptimizerOptions& options, const StepInfo& now,
                                  std::span<const SlotNorms> norms) = nullptr;
};

/// nullptr: no optimiser of the table.
const OptimizerLaunches* find_optimizer_launches(std::string_view name);

}  // namespace dllaunch::gpu
