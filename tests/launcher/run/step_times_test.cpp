#include "launcher/run/step_times.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

TEST(StepTimes, AddsUpAndTakesBack) {
  StepTimes times;
  EXPECT_EQ(times.seconds(), 0);
  EXPECT_EQ(times.begin_after(0), 0);
  times.add(1, 2);
  times.add(5, 8);  // four steps of 2 s
  EXPECT_DOUBLE_EQ(times.seconds(), 10);
  EXPECT_DOUBLE_EQ(times.begin_after(5), 0);
  EXPECT_DOUBLE_EQ(times.begin_after(2), 6) << "between two events they took as long as each other";
  EXPECT_DOUBLE_EQ(times.seconds(), 4);
  times.add(3, 1);
  EXPECT_DOUBLE_EQ(times.seconds(), 5);
  EXPECT_DOUBLE_EQ(times.begin_after(0), 5);
  EXPECT_DOUBLE_EQ(times.seconds(), 0);
}

TEST(StepTimes, BeginsAnywhereAndKnowsNoStepsBefore) {
  StepTimes times;
  times.begin_after(100);
  times.add(110, 5);
  EXPECT_DOUBLE_EQ(times.begin_after(50), 5) << "what was trained before is not known";
  times.add(60, 1);
  times.begin_after(80);  // unreported steps
  times.add(81, 1);
  EXPECT_DOUBLE_EQ(times.seconds(), 2);
  EXPECT_DOUBLE_EQ(times.begin_after(80), 1);
}

TEST(StepTimes, AStepWithoutANumberHasOnlyATime) {
  StepTimes times;
  times.add(0, 3);
  times.add(0, 4);
  EXPECT_DOUBLE_EQ(times.seconds(), 7);
  times.add(7, 1);
  times.add(6, 1);
  EXPECT_DOUBLE_EQ(times.seconds(), 9);
}

TEST(StepTimes, OfALongRunOldStepsAreCoarser) {
  StepTimes times;
  times.begin_after(0);
  constexpr int steps = 1'000'000;
  for (int step = 1; step <= steps; ++step) times.add(step, 0.5);
  EXPECT_NEAR(times.seconds(), 0.5 * steps, 1e-3);
  EXPECT_NEAR(times.begin_after(steps - 1000), 500, 1e-3) << "of the latest all is known";
  EXPECT_NEAR(times.begin_after(123), 0.5 * (steps - 1000 - 123), 1e-3);
}

TEST(StepTimes, NeverTakesBackMoreThanThereWas) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    StepTimes times;
    double sum = 0;
    for (int k = 0; k < 200; ++k) {
      if (random() % 4 == 0) {
        const double lost = times.begin_after(static_cast<std::int64_t>(random() % 500));
        ASSERT_GE(lost, -1e-9);
        sum -= lost;
      } else {
        const double seconds = static_cast<double>(random() % 100) / 10;
        times.add(static_cast<std::int64_t>(random() % 500), seconds);
        sum += seconds;
      }
      ASSERT_NEAR(times.seconds(), sum, 1e-6);
      ASSERT_GE(times.seconds(), -1e-9);
    }
  }
}

}  // namespace
}  // namespace dllaunch
