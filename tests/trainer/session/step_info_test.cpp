#include "trainer/session/step_info.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TrainConfig cosine() {
  TrainConfig config;
  config.optimizer_options.lr = 0.4;
  config.schedule = {.scaling = "linear", .warmup_epochs = 1, .decay = "cosine", .epochs = 4};
  return config;
}

TEST(StepInfo, DependsOnThePosition) {
  const TrainConfig config = cosine();
  const StepShape shape{.ranks = 2, .batch_size = 8};  // 7 steps an epoch, the last of 4 images
  const auto first = step_info(config, shape, 100, {});
  EXPECT_EQ(first.step, 1);
  EXPECT_EQ(first.epoch, 0);
  EXPECT_EQ(first.lr, 0.4);
  EXPECT_EQ(first.previous_lr, 0);
  std::int64_t step = 0;
  double before = 0;
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    for (std::int64_t images = 0; images < 100; images += 16, ++step) {
      const auto now = step_info(config, shape, 100,
                                 {.epoch = epoch, .step = step, .images = images, .lr = before});
      EXPECT_EQ(now.step, step + 1);
      EXPECT_DOUBLE_EQ(now.epoch, static_cast<double>(step) / 7);
      EXPECT_EQ(now.lr, learning_rate(config.schedule, 0.4, 2, 7, step));
      EXPECT_EQ(now.previous_lr, before);
      before = now.lr;
    }
  }
}

/// The optimiser's step count continues; the schedule depends on the images seen.
TEST(StepInfo, WithOtherRanksTheScheduleKeepsItsPlace) {
  const TrainConfig config = cosine();
  const TrainPosition at{.epoch = 2, .step = 17, .images = 48};
  const auto two = step_info(config, {.ranks = 2, .batch_size = 8}, 96, at);
  const auto one = step_info(config, {.ranks = 1, .batch_size = 8}, 96, at);
  EXPECT_EQ(two.step, 18);
  EXPECT_EQ(one.step, 18);
  EXPECT_DOUBLE_EQ(two.epoch, 2.5);
  EXPECT_DOUBLE_EQ(one.epoch, 2.5);
  EXPECT_DOUBLE_EQ(two.lr, 2 * one.lr);
}

TEST(StepInfo, WithAFixedGlobalBatchTheRateDoesNotFollowTheRanks) {
  const TrainPosition at{.epoch = 2, .step = 17, .images = 48};
  const auto two = step_info(cosine(), {.ranks = 2, .batch_size = 8}, 96, at);
  const auto one = step_info(cosine(), {.ranks = 1, .batch_size = 8, .images = 16}, 96, at);
  EXPECT_EQ(one.lr, two.lr);
}

/// This decay counts the steps taken, not the steps that as many epochs would have here.
TEST(StepInfo, WithOtherRanksInverseTimeContinuesWithoutAJump) {
  for (const double warmup : {0.0, 1.0}) {
    TrainConfig config = cosine();
    config.schedule = {.warmup_epochs = warmup, .decay = "inverse-time", .decay_rate = 0.5};
    const StepShape two{.ranks = 2, .batch_size = 8};  // 6 steps an epoch
    const StepShape one{.ranks = 1, .batch_size = 8};  // 12
    const TrainPosition at{.epoch = 2, .step = 15, .images = 48};
    const double before = step_info(config, two, 96, at).lr;
    EXPECT_DOUBLE_EQ(before, 0.4 / (1 + 0.5 * (15 - 6 * warmup)));
    EXPECT_DOUBLE_EQ(step_info(config, one, 96, at).lr, before);
    const double next = step_info(config, one, 96, {.epoch = 2, .step = 16, .images = 56}).lr;
    EXPECT_LT(next, before);
    EXPECT_GT(next, 0.4 / (1 + 0.5 * (16 - 6 * warmup) + 0.5));
  }
}

TEST(StepInfo, ThePreviousRateIsTheOneApplied) {
  TrainConfig config = cosine();
  const StepShape shape{.ranks = 2, .batch_size = 8};
  const TrainPosition at{.epoch = 1, .step = 7, .lr = 0.125};  // from a run with another lr
  EXPECT_EQ(step_info(config, shape, 100, at).previous_lr, 0.125);
  EXPECT_EQ(step_info(config, shape, 100, {.epoch = 1, .step = 7}).previous_lr, 0);
}

}  // namespace
}  // namespace dllaunch
