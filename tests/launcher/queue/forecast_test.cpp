#include "launcher/queue/forecast.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace dllaunch {
namespace {

constexpr double now = 10'000;
constexpr double never = std::numeric_limits<double>::infinity();

Shape whole(int nodes, int minutes) {
  return {.nodes = nodes, .limit_minutes = minutes, .run_s = minutes * 60.0};
}
Shape sliced(int nodes, int minutes, int slices, double useful_s) {
  return {.sets = {"x=1"},
          .nodes = nodes,
          .limit_minutes = minutes,
          .slices = slices,
          .run_s = useful_s * slices,
          .useful_s = useful_s};
}

/// Four of eight nodes are busy for ten minutes, then all are for half an hour.
NodeForecast blocked() {
  FreeNodes running(now, 8);
  running.take(now, now + 600, 4);
  NodeForecast nodes{.free = running, .running = running, .waiting_s = 1800};
  nodes.free.take(now + 600, now + 2400, 8);
  return nodes;
}

TEST(Forecast, OfSlurmAloneWhereTheQueueIsNotKnown) {
  const auto one = forecast(whole(4, 30), now + 500, nullptr, now);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->start_s, now + 500);
  EXPECT_EQ(one->finish_s, now + 2300);
  EXPECT_DOUBLE_EQ(one->node_hours, 2);
  EXPECT_FALSE(one->by_backfill());
  EXPECT_FALSE(forecast(whole(4, 30), std::nullopt, nullptr, now));
  EXPECT_EQ(forecast(whole(4, 30), now - 5, nullptr, now)->start_s, now) << "not in the past";
}

TEST(Forecast, AGapCountsWhereSlurmPutsTheJobBehindAll) {
  const auto nodes = blocked();
  const auto fits = forecast(whole(4, 10), now + 1800, &nodes, now);
  EXPECT_EQ(fits->start_s, now);
  EXPECT_TRUE(fits->by_backfill());
  // 4 nodes for 11 minutes are free only after the wide job; Slurm's sum packs without gaps.
  const auto not_quite = forecast(whole(4, 11), now + 2400, &nodes, now);
  EXPECT_EQ(not_quite->start_s, now + 2400);
  EXPECT_FALSE(forecast(whole(9, 1), std::nullopt, &nodes, now)) << "never";
}

TEST(Forecast, AMinuteIsNoBackfill) {
  const auto nodes = blocked();
  EXPECT_FALSE(forecast(whole(4, 10), now + 1, &nodes, now)->by_backfill());
}

/// All nodes never come free together, as far as the queue tells: Slurm knows more.
TEST(Forecast, WithoutAGapSlurmsAnswerIsAllAndComesLast) {
  auto nodes = blocked();
  nodes.free.take(now, never, 1);
  const auto wide = forecast(whole(8, 10), now + 30, &nodes, now);
  ASSERT_TRUE(wide);
  EXPECT_FALSE(wide->gap_s);
  EXPECT_EQ(wide->start_s, now + 30);
  EXPECT_TRUE(forecast(sliced(8, 10, 2, 480), now + 30, &nodes, now)) << "later slices likewise";
  std::vector<Forecast> all = {*wide, *forecast(whole(4, 60), now + 30, &nodes, now)};
  rank_by_finish(all, now);
  EXPECT_EQ(all[0].shape.nodes, 4);
}

TEST(Forecast, SlurmCountsWhereItPutsTheJobFirst) {
  const auto nodes = blocked();
  EXPECT_EQ(forecast(whole(8, 11), now + 600, &nodes, now)->start_s, now + 600) << "priority";
  EXPECT_EQ(forecast(whole(8, 11), now, &nodes, now)->start_s, now) << "preemption";
}

TEST(Forecast, SlicesWaitForTheirGaps) {
  const auto nodes = blocked();
  const auto two = forecast(sliced(4, 10, 2, 480), now + 1800, &nodes, now);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->start_s, now);
  EXPECT_EQ(two->finish_s, now + 2400 + 480 + slice_start_s);
  EXPECT_DOUBLE_EQ(two->node_hours, (600 + 480 + slice_start_s) / 3600 * 4);
  // Without gaps each slice waits as long as the first.
  const auto alike = forecast(sliced(4, 10, 3, 480), now + 900, nullptr, now);
  EXPECT_EQ(alike->finish_s, now + 900 + 2 * (600 + 900) + 480 + slice_start_s);
  const auto held = forecast(sliced(4, 10, 2, 480), now, nullptr, now);
  EXPECT_EQ(held->finish_s, now + 600 + requeue_hold_s + 480 + slice_start_s);
}

TEST(Forecast, RanksByFinishAndDistrustsSlices) {
  const auto at = [](Shape shape, double finish, double hours) {
    return Forecast{
        .shape = std::move(shape), .start_s = now, .finish_s = finish, .node_hours = hours};
  };
  std::vector<Forecast> all = {at(whole(8, 1), now + 1000, 9), at(whole(4, 1), now + 1000, 8),
                               at(sliced(2, 1, 2, 30), now + 950, 7),
                               at(sliced(1, 1, 2, 30), now + 740, 7), at(whole(2, 1), never, 1)};
  rank_by_finish(all, now);
  EXPECT_EQ(all[0].shape.nodes, 1) << "more than a quarter sooner";
  EXPECT_EQ(all[1].shape.nodes, 4) << "fewer node-hours";
  EXPECT_EQ(all[2].shape.nodes, 8);
  EXPECT_EQ(all[3].shape.slices, 2) << "not a quarter sooner";
}

}  // namespace
}  // namespace dllaunch
