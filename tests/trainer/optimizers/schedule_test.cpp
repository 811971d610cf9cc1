#include "trainer/optimizers/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>

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

TEST(Schedule, SquareRootScalingGrowsSlower) {
  EXPECT_DOUBLE_EQ(learning_rate({.scaling = "sqrt"}, 0.1, 16, 10, 0), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate({.scaling = "sqrt"}, 0.1, 1, 10, 0), 0.1);
}

TEST(Schedule, WarmUpMayStartFromAnotherRate) {
  const ScheduleOptions options{.warmup_epochs = 2, .warmup_lr = 0};
  EXPECT_EQ(learning_rate(options, 10, 1, 10, 0), 0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 10, 1, 10, 5), 2.5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 10, 1, 10, 20), 10);
}

constexpr std::int64_t an_epoch = 100;  // steps

double after(const ScheduleOptions& options, double epochs, double base = 0.5) {
  return learning_rate(options, base, 1, an_epoch, std::llround(epochs * an_epoch));
}

TEST(Schedule, ExponentialDecaysALittleEachStep) {
  const ScheduleOptions options{.decay = "exponential", .epochs = 10, .gamma = 0.9};
  EXPECT_DOUBLE_EQ(after(options, 0), 0.5);
  EXPECT_DOUBLE_EQ(after(options, 1), 0.45);
  EXPECT_DOUBLE_EQ(after(options, 0.5), 0.5 * std::sqrt(0.9));
  EXPECT_DOUBLE_EQ(after(options, 10), 0.5 * std::pow(0.9, 10));
}

TEST(Schedule, StepDropsAtOnce) {
  const ScheduleOptions options{.decay = "step", .gamma = 0.1, .step_epochs = 30};
  EXPECT_DOUBLE_EQ(after(options, 29.99), 0.5);
  EXPECT_DOUBLE_EQ(after(options, 30), 0.05);
  EXPECT_DOUBLE_EQ(after(options, 59.99), 0.05);
  EXPECT_DOUBLE_EQ(after(options, 60), 0.005);
  const ScheduleOptions often{.decay = "step", .gamma = 0.5, .step_epochs = 0.1};
  EXPECT_DOUBLE_EQ(after(often, 0.3), 0.0625);
}

TEST(Schedule, PiecewiseChangesAtMilestones) {
  const ScheduleOptions goyal{.decay = "piecewise", .gamma = 0.1, .milestones = {30, 60, 80}};
  EXPECT_DOUBLE_EQ(after(goyal, 29.99), 0.5);
  EXPECT_DOUBLE_EQ(after(goyal, 30), 0.05);
  EXPECT_DOUBLE_EQ(after(goyal, 79.99), 0.005);
  EXPECT_DOUBLE_EQ(after(goyal, 80), 0.0005);
  // The slow-start schedule of Akiba et al.
  const ScheduleOptions slow{
      .decay = "piecewise", .milestones = {0, 40, 70, 85}, .factors = {0.5, 0.075, 0.01, 0.001}};
  EXPECT_DOUBLE_EQ(after(slow, 0, 12.8), 6.4);
  EXPECT_DOUBLE_EQ(after(slow, 39.99, 12.8), 6.4);
  EXPECT_DOUBLE_EQ(after(slow, 40, 12.8), 0.96);
  EXPECT_DOUBLE_EQ(after(slow, 89.99, 12.8), 0.0128);
}

TEST(Schedule, PolynomialReachesTheEndRateAtTheEnd) {
  const ScheduleOptions options{
      .warmup_epochs = 5, .decay = "polynomial", .epochs = 25, .power = 2, .end_lr = 1e-4};
  EXPECT_DOUBLE_EQ(after(options, 5), 0.5);
  EXPECT_DOUBLE_EQ(after(options, 15), 1e-4 + (0.5 - 1e-4) / 4);
  EXPECT_DOUBLE_EQ(after(options, 25), 1e-4);
  EXPECT_DOUBLE_EQ(after(options, 90), 1e-4);
}

TEST(Schedule, CosineReachesTheEndRateAtTheEnd) {
  ScheduleOptions options{.decay = "cosine", .epochs = 20, .end_lr = 0.1};
  EXPECT_DOUBLE_EQ(after(options, 0), 0.5);
  EXPECT_NEAR(after(options, 10), 0.3, 1e-15);
  EXPECT_DOUBLE_EQ(after(options, 20), 0.1);
  options.decay_epochs = 10;
  EXPECT_NEAR(after(options, 5), 0.3, 1e-15);
  EXPECT_DOUBLE_EQ(after(options, 15), 0.1);
}

TEST(Schedule, InverseTimeCountsSteps) {
  const ScheduleOptions options{.decay = "inverse-time", .decay_rate = 5e-6};
  EXPECT_DOUBLE_EQ(after(options, 0), 0.5);
  EXPECT_DOUBLE_EQ(after(options, 2000), 0.25);  // 200,000 steps
}

TEST(Schedule, InverseTimeGoesByTheStepsThatWereTaken) {
  const ScheduleOptions options{
      .warmup_epochs = 2, .decay = "inverse-time", .epochs = 9, .decay_rate = 0.01};
  const double expected = learning_rate(options, 0.5, 1, 100, 800);
  EXPECT_DOUBLE_EQ(expected, 0.5 / 7);
  EXPECT_EQ(learning_rate(options, 0.5, 1, 100, 800, 800), expected);
  // Four times the ranks from here on: 25 steps per epoch, 800 were taken.
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 1, 25, 200, 800), expected);
  EXPECT_EQ(learning_rate(options, 0.5, 1, 25, 0, 1), 0.5);
  ScheduleOptions other = options;
  other.decay = "cosine";
  EXPECT_EQ(learning_rate(other, 0.5, 1, 25, 200, 800), learning_rate(other, 0.5, 1, 25, 200));
}

/// Returns random options for a decay.
ScheduleOptions drawn(std::mt19937& random, const DecayEntry& decay) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  ScheduleOptions options{.warmup_epochs = random() % 2 == 0 ? 0 : between(0, 6),
                          .decay = std::string(decay.name),
                          .epochs = between(7, 12),
                          .gamma = between(0.01, 1),
                          .step_epochs = between(0.1, 5),
                          .power = between(0.5, 4),
                          .end_lr = between(0, 0.1),
                          .decay_rate = between(0, 0.1)};
  if (random() % 2 == 0) options.warmup_lr = between(0, 0.1);
  if (random() % 2 == 0) options.decay_epochs = between(0.1, 12);
  options.scaling = lr_scalings()[random() % lr_scalings().size()].name;
  for (double epoch = 0; epoch < 8; epoch += between(0.1, 3)) options.milestones.push_back(epoch);
  return options;
}

double decay_steps(const ScheduleOptions& options) {
  const double warm = std::round(options.warmup_epochs * an_epoch) / an_epoch;
  return options.decay_epochs.value_or(options.epochs - warm) * an_epoch;
}

/// Returns the largest decrease per step of a smooth rate.
double steepest(const ScheduleOptions& options, double full) {
  const double steps = std::max(decay_steps(options), 1.0);
  if (options.decay == "exponential") return full * (1 - std::pow(options.gamma, 1.0 / an_epoch));
  if (options.decay == "inverse-time") return full * options.decay_rate;
  if (options.decay == "cosine") return (full - options.end_lr) * std::numbers::pi / (2 * steps);
  if (options.decay == "polynomial") {
    // At the beginning, or at the end if the power is below 1.
    const double share = std::max(options.power / steps, std::pow(1 / steps, options.power));
    return (full - options.end_lr) * std::min(share, 1.0);
  }
  return 0;
}

/// For every decay and warm-up: rates are finite and non-negative, start at the warm-up's rate,
/// rise during it and fall after it. Smooth decays fall no faster than their formula; decays with
/// an end reach it.
TEST(Schedule, EveryDecayKeepsItsPromises) {
  std::mt19937 random(20);
  for (const auto& decay : lr_decays()) {
    for (int sample = 0; sample < 50; ++sample) {
      const ScheduleOptions options = drawn(random, decay);
      SCOPED_TRACE(std::string(decay.name) + ", sample " + std::to_string(sample));
      const int ranks = static_cast<int>(random() % 64) + 1;
      constexpr double base = 0.2;
      const auto warm = static_cast<std::int64_t>(std::round(options.warmup_epochs * an_epoch));
      const double full = learning_rate({.scaling = options.scaling}, base, ranks, an_epoch, 0);
      const bool jumps = decay.name == "step" || decay.name == "piecewise";
      double last = learning_rate(options, base, ranks, an_epoch, 0);
      if (warm > 0) {
        EXPECT_DOUBLE_EQ(last, options.warmup_lr.value_or(base));
      }
      for (std::int64_t step = 1; step < 12 * an_epoch; ++step) {
        const double rate = learning_rate(options, base, ranks, an_epoch, step);
        ASSERT_TRUE(std::isfinite(rate) && rate >= 0) << step;
        ASSERT_LE(rate, full * (1 + 1e-12)) << step;
        if (step < warm) {
          ASSERT_GE(rate, last) << step;
        } else if (step > warm) {
          ASSERT_LE(rate, last * (1 + 1e-12)) << step;
          if (!jumps) {
            ASSERT_GE(rate, last - steepest(options, full) - 1e-12 * full) << step;
          }
        } else if (!jumps) {
          EXPECT_DOUBLE_EQ(rate, full);
        }
        const bool has_end = decay.name == "polynomial" || decay.name == "cosine";
        if (has_end && static_cast<double>(step - warm) >= decay_steps(options)) {
          ASSERT_NEAR(rate, options.end_lr, 1e-12 * full) << step;
        }
        last = rate;
      }
    }
  }
}

TEST(Schedule, MilestonesMustRiseAndFactorsFit) {
  EXPECT_EQ(schedule_problem({.decay = "piecewise", .milestones = {1, 2}}), "");
  EXPECT_EQ(schedule_problem({.decay = "piecewise", .milestones = {3, 2}}),
            "lr_schedule.milestones must ascend, not 3, 2");
  EXPECT_NE(schedule_problem({.decay = "piecewise", .milestones = {2, 2}}), "");
  EXPECT_EQ(schedule_problem({.decay = "piecewise", .milestones = {2, 3}, .factors = {1}}),
            "lr_schedule.factors needs one per milestone: 1 for 2");
  EXPECT_EQ(schedule_problem({.decay = "cosine", .milestones = {3, 2}}), "");
}

}  // namespace
}  // namespace dllaunch
