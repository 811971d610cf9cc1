// Where buffers lie that are not all in use at the same time. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dllaunch {

/// In use from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // of each buffer, multiples of 64 bytes
  std::size_t bytes = 0;             // of all together
};

/// Buffers that are in use at the same time do not overlap. The largest first, each at the lowest
/// place that is free for as long as it lives: no optimum, but near the most that is ever in use.
MemoryPlan plan_memory(std::span<const Lifetime> buffers);

}  // namespace dllaunch
