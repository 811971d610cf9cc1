#include "trainer/pipeline/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;

std::vector<SegmentCost> of_seconds(const std::vector<double>& seconds) {
  std::vector<SegmentCost> segments;
  for (const double one : seconds) segments.push_back({.seconds = one});
  return segments;
}

/// Calls visit(ends) with every way to cut `segments` into `stages`.
void for_each_cut(int segments, int stages,
                  const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> ends;
  const std::function<void()> extend = [&] {
    if (static_cast<int>(ends.size()) == stages - 1) {
      ends.push_back(segments);
      visit(ends);
      ends.pop_back();
      return;
    }
    const int left = stages - 1 - static_cast<int>(ends.size());
    for (int end = (ends.empty() ? 0 : ends.back()) + 1; end <= segments - left; ++end) {
      ends.push_back(end);
      extend();
      ends.pop_back();
    }
  };
  extend();
}

std::int64_t most_bytes(const Partition& partition) {
  return std::ranges::max(partition.stages, {}, &StageCost::bytes).bytes();
}

/// A task with its numbers, few of them, so that equal costs are frequent.
struct RandomTask {
  explicit RandomTask(std::mt19937& random) {
    const auto below = [&](int bound) {
      return static_cast<int>(random() % static_cast<unsigned>(bound));
    };
    const int count = 1 + below(9);
    for (int i = 0; i < count; ++i) {
      segments.push_back({.seconds = 0.25 * (1 + below(8)),
                          .held_bytes = below(50),
                          .activation_bytes = below(20),
                          .crossing_bytes = below(6)});
    }
    if (count > 2 && below(2) == 0) {
      const std::int64_t both = std::min(segments.front().held_bytes, segments.back().held_bytes);
      shared.push_back({.segments = {0, count - 1}, .bytes = both});
    }
    task = {.segments = segments,
            .shared = shared,
            .stages = 1 + below(std::min(count, 5)),
            .micro_batches = 1 + below(6),
            .seconds_per_byte = 0.125 * below(3)};
    if (below(2) == 0) task.memory_bytes = 20 + below(200);
  }

  std::vector<SegmentCost> segments;
  std::vector<SharedBytes> shared;
  PartitionTask task;
};

TEST(Partition, OfEqualStagesHasTheBubbleOfTheSchedule) {
  const auto segments = of_seconds({2, 2, 2, 2});
  const PartitionTask task{.segments = segments, .stages = 4, .micro_batches = 8};
  const Partition partition = cost_of(task, {1, 2, 3, 4});
  EXPECT_THAT(partition.step_seconds, DoubleEq((8 + 4 - 1) * 2));
  EXPECT_THAT(partition.idle, DoubleNear(3.0 / 11, 1e-12));
  EXPECT_EQ(cost_of({.segments = segments}, {4}).idle, 0);
}

TEST(Partition, BalancesStages) {
  const auto segments = of_seconds({4, 1, 1, 2, 3, 1});
  const auto partition = choose_partition({.segments = segments, .stages = 3, .micro_batches = 4});
  ASSERT_TRUE(partition) << partition.error().what;
  EXPECT_THAT(partition->ends, ElementsAre(1, 4, 6));
  EXPECT_THAT(partition->step_seconds, DoubleEq(12 + 3 * 4));
}

TEST(Partition, CutsWhereLittleCrosses) {
  std::vector<SegmentCost> segments = of_seconds({1, 1, 1, 1, 1});
  for (auto& segment : segments) segment.crossing_bytes = 8;
  segments[1].crossing_bytes = 1;
  const auto partition = choose_partition(
      {.segments = segments, .stages = 2, .micro_batches = 2, .seconds_per_byte = 0.1});
  ASSERT_TRUE(partition);
  EXPECT_THAT(partition->ends, ElementsAre(2, 5));
  EXPECT_THAT(partition->stages[0].seconds, DoubleEq(2.1));
  EXPECT_THAT(partition->stages[1].seconds, DoubleEq(3.1));
}

/// The last segment is the slowest stage whatever the rest is.
TEST(Partition, EvensOutWhatTakesNoLonger) {
  const auto segments = of_seconds({0.1, 1, 1, 1, 1, 3});
  const auto partition = choose_partition({.segments = segments, .stages = 3, .micro_batches = 4});
  ASSERT_TRUE(partition);
  EXPECT_THAT(partition->ends, ElementsAre(3, 5, 6));
}

TEST(Partition, TheFirstStagesKeepMoreMicroBatches) {
  std::vector<SegmentCost> segments = of_seconds({1, 1});
  for (auto& segment : segments) segment.activation_bytes = 10;
  const Partition partition =
      cost_of({.segments = segments, .stages = 2, .micro_batches = 4}, {1, 2});
  EXPECT_EQ(partition.stages[0].in_flight, 2);
  EXPECT_EQ(partition.stages[0].bytes(), 20);
  EXPECT_EQ(partition.stages[1].bytes(), 10);
  EXPECT_EQ(cost_of({.segments = segments, .stages = 2}, {1, 2}).stages[0].bytes(), 10);
}

TEST(Partition, IsTheBestOfAll) {
  std::mt19937 random(17);
  for (int round = 0; round < rounds_here(2000); ++round) {
    const RandomTask made(random);
    double fastest = std::numeric_limits<double>::infinity();
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    for_each_cut(static_cast<int>(made.segments.size()), made.task.stages, [&](const auto& ends) {
      const Partition one = cost_of(made.task, ends);
      smallest = std::min(smallest, most_bytes(one));
      if (made.task.memory_bytes && most_bytes(one) > *made.task.memory_bytes) return;
      fastest = std::min(fastest, one.step_seconds);
    });
    const auto chosen = choose_partition(made.task);
    ASSERT_EQ(static_cast<bool>(chosen), fastest < 1e300) << "round " << round;
    if (!chosen) {
      EXPECT_EQ(chosen.error().kind, ErrorKind::unsatisfiable);
      PartitionTask larger = made.task;
      larger.memory_bytes = smallest;
      EXPECT_TRUE(choose_partition(larger)) << "round " << round;
      larger.memory_bytes = smallest - 1;
      EXPECT_FALSE(choose_partition(larger)) << "round " << round;
      continue;
    }
    ASSERT_EQ(std::ssize(chosen->ends), made.task.stages);
    EXPECT_THAT(chosen->step_seconds, DoubleNear(fastest, 1e-9)) << "round " << round;
    EXPECT_TRUE(!made.task.memory_bytes || most_bytes(*chosen) <= *made.task.memory_bytes);
    EXPECT_GE(chosen->idle, -1e-12);
    EXPECT_LT(chosen->idle, 1);
  }
}

TEST(Partition, SaysWhatTheSmallestNeeds) {
  std::vector<SegmentCost> segments = of_seconds({1, 1, 1});
  for (auto& segment : segments) segment.held_bytes = std::int64_t{3} << 30;
  const auto chosen =
      choose_partition({.segments = segments, .stages = 2, .memory_bytes = std::int64_t{4} << 30});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().what,
            "no cut into 2 stages fits the 4.00 GiB of memory of a rank: the smallest needs 6.00 "
            "GiB on the ranks of stage 2");
}

TEST(Partition, NeedsASegmentPerStage) {
  const auto segments = of_seconds({1, 1});
  const auto chosen = choose_partition({.segments = segments, .stages = 3});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().what, "the network can be cut into at most 2 stages, not 3");
  EXPECT_EQ(chosen.error().hint, "use runtime.pipeline.stages: 2");
}

TEST(Partition, OfManySegmentsIsQuick) {
  std::mt19937 random(1);
  std::vector<SegmentCost> segments;
  for (int i = 0; i < 150; ++i) {
    segments.push_back({.seconds = 1e-3 * static_cast<double>(1 + random() % 1000),
                        .crossing_bytes = static_cast<std::int64_t>(random() % 1000)});
  }
  const auto chosen = choose_partition(
      {.segments = segments, .stages = 16, .micro_batches = 32, .seconds_per_byte = 1e-5});
  ASSERT_TRUE(chosen);
  EXPECT_LT(chosen->idle, 0.6);
}

}  // namespace
}  // namespace dllaunch
