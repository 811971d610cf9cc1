// Memory planning: buffers with disjoint lifetimes share addresses. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dllaunch {

/// A buffer in use from step `first` to step `last`, inclusive.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // per buffer, in bytes; multiples of 64
  std::size_t bytes = 0;             // total
};

/// Returns offsets such that buffers in use at the same time do not overlap. Greedy by size: the
/// largest first, each at the lowest offset that is free during its lifetime. Not optimal, but
/// close to the peak usage.
MemoryPlan plan_memory(std::span<const Lifetime> buffers);

}  // namespace dllaunch
