#include "trainer/backends/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace dllaunch {
namespace {

bool overlap(const std::vector<Lifetime>& buffers, const MemoryPlan& plan, std::size_t a,
             std::size_t b) {
  const bool in_time = buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
  const bool in_space = plan.offsets[a] < plan.offsets[b] + buffers[b].bytes &&
                        plan.offsets[b] < plan.offsets[a] + buffers[a].bytes;
  return in_time && in_space;
}

TEST(MemoryPlan, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0u);
}

TEST(MemoryPlan, BuffersOfDifferentTimesShareTheirPlace) {
  const std::vector<Lifetime> chain = {{640, 1, 2}, {640, 2, 3}, {640, 3, 4}, {640, 4, 5}};
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.bytes, 1280u);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
}

TEST(MemoryPlan, NoTwoThatLiveTogetherOverlap) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> buffers(random() % 40);
    std::vector<std::size_t> in_use(110);
    for (Lifetime& each : buffers) {
      each.bytes = random() % 5000;
      each.first = static_cast<int>(random() % 100);
      each.last = each.first + static_cast<int>(random() % 10);
      for (int step = each.first; step <= each.last; ++step) {
        in_use[static_cast<std::size_t>(step)] += (each.bytes + 63) / 64 * 64;
      }
    }
    const MemoryPlan plan = plan_memory(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % 64, 0u);
      EXPECT_LE(plan.offsets[a] + buffers[a].bytes, plan.bytes);
      for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(overlap(buffers, plan, a, b));
    }
    const std::size_t least = *std::ranges::max_element(in_use);
    EXPECT_GE(plan.bytes, least);
    EXPECT_LE(plan.bytes, 2 * least) << "far from what is in use at once";
  }
}

}  // namespace
}  // namespace dllaunch
