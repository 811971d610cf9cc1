#include "trainer/schedule.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Schedule, IsConstantByDefault) {
  for (const int step : {0, 1, 100, 100000}) {
    EXPECT_EQ(learning_rate({}, 0.1, 8, 10, step), 0.1);
  }
}

TEST(Schedule, LinearScalingMultipliesByRanks) {
  EXPECT_DOUBLE_EQ(learning_rate({.scaling = "linear"}, 0.1, 8, 10, 0), 0.8);
}

TEST(Schedule, WarmsUpInEqualIncrementsPerStep) {
  const ScheduleOptions options{.scaling = "linear", .warmup_epochs = 5};
  constexpr std::int64_t steps = 20;  // an epoch
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 8, steps, 0), 0.1);
  const double increment = (0.8 - 0.1) / (5 * steps);
  for (std::int64_t step = 1; step <= 5 * steps; ++step) {
    const double before = learning_rate(options, 0.1, 8, steps, step - 1);
    EXPECT_NEAR(learning_rate(options, 0.1, 8, steps, step) - before, increment, 1e-12);
  }
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 8, steps, 5 * steps), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 8, steps, 1000 * steps), 0.8);
}

TEST(Schedule, WarmUpMayEndWithinAnEpochAndChangesNothingForOneRank) {
  const ScheduleOptions options{.scaling = "linear", .warmup_epochs = 0.5};
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 4, 10, 4), 0.1 + 0.3 * 4 / 5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 4, 10, 5), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 1, 10, 3), 0.1);
}

}  // namespace
}  // namespace dllaunch
