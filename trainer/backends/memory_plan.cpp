#include "trainer/backends/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace dllaunch {
namespace {

constexpr std::size_t alignment = 64;  // cache line and widest vector register

std::size_t rounded(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool meet(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  MemoryPlan plan{.offsets = std::vector<std::size_t>(buffers.size())};
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t buffer : order) {
    const std::size_t bytes = rounded(buffers[buffer].bytes);
    std::size_t at = 0;
    for (const std::size_t other : placed) {
      if (!meet(buffers[buffer], buffers[other])) continue;
      if (at + bytes <= plan.offsets[other]) break;
      at = std::max(at, plan.offsets[other] + rounded(buffers[other].bytes));
    }
    plan.offsets[buffer] = at;
    plan.bytes = std::max(plan.bytes, at + bytes);
    const auto behind = std::ranges::upper_bound(
        placed, at, {}, [&](std::size_t other) { return plan.offsets[other]; });
    placed.insert(behind, buffer);
  }
  return plan;
}

}  // namespace dllaunch
