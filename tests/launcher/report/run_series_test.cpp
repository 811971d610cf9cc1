#include "launcher/report/run_series.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/report/written_events.hpp"

namespace dllaunch {
namespace {

using RunSeriesTest = WrittenEvents;

TEST_F(RunSeriesTest, HoldsWhatCounts) {
  steps(1, 10);
  epoch(1);
  steps(11, 17);
  add(R"("event":"restart","reason":"rank 1 was killed")");
  time_ += 20;
  resume(10);
  steps(11, 20);
  epoch(2);
  const auto series = read();
  EXPECT_EQ(series.steps.size(), 20u);
  EXPECT_EQ(series.steps.back().step, 20);
  EXPECT_EQ(series.epochs.size(), 2u);
  EXPECT_EQ(series.gpus.size(), 2u);
  EXPECT_EQ(series.ranks["epoch"], 2);
  ASSERT_EQ(series.starts.size(), 2u);
}

TEST_F(RunSeriesTest, AnEpochThatIsTrainedAgainStandsOnce) {
  steps(1, 10);
  epoch(1);
  steps(11, 20);
  epoch(2);
  resume(10);
  const auto series = read();
  EXPECT_EQ(series.epochs.size(), 1u);
  EXPECT_EQ(series.gpus.size(), 1u);
  EXPECT_EQ(series.steps.back().step, 10);
}

/// Without a checkpoint no `resume` tells where a start continues.
TEST_F(RunSeriesTest, AStartFromTheBeginningForgetsAll) {
  steps(1, 10);
  epoch(1);
  steps(11, 20);
  epoch(2);
  begin(2);
  steps(1, 10);
  EXPECT_TRUE(read().epochs.empty());
  epoch(1);
  const auto series = read();
  EXPECT_EQ(series.epochs.size(), 1u);
  EXPECT_EQ(series.gpus.size(), 1u);
  EXPECT_EQ(series.steps.size(), 10u);
}

TEST_F(RunSeriesTest, ARestartIsAnnouncedWhileNothingTrains) {
  steps(1, 10);
  const double stopped_s = time_;
  time_ += 60;
  add(R"("event":"restart","reason":"a node was lost")");
  begin(2);
  const auto series = read();
  ASSERT_EQ(series.starts.size(), 2u);
  EXPECT_EQ(series.starts[0].to_s, stopped_s);
}

TEST_F(RunSeriesTest, KeepsABoundedNumberOfSteps) {
  steps(1, 40'000);
  const auto series = read();
  EXPECT_EQ(series.steps_recorded, 40'000);
  EXPECT_LT(series.steps.size(), RunSeries::most_steps);
  EXPECT_GT(series.steps.size(), RunSeries::most_steps / 4);
  EXPECT_EQ(series.steps.back().step, 40'000) << "the newest is among them";
  for (std::size_t i = 1; i < series.steps.size(); ++i)
    ASSERT_LT(series.steps[i - 1].step, series.steps[i].step);
}

}  // namespace
}  // namespace dllaunch
