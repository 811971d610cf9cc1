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

TEST_F(RunSeriesTest, KeepsABoundedNumberOfSteps) {
  steps(1, 40'000);
  const auto series = read();
  EXPECT_EQ(series.steps_recorded, 40'000);
  EXPECT_LT(series.steps.size(), RunSeries::most_steps);
  EXPECT_GT(series.steps.size(), RunSeries::most_steps / 4);
  for (std::size_t i = 1; i < series.steps.size(); ++i)
    ASSERT_LT(series.steps[i - 1].step, series.steps[i].step);
}

}  // namespace
}  // namespace dllaunch
