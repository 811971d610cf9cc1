#include "trainer/optimizers/loss_scale.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(LossScale, HalvesWhereGradientsOverflowAndGrowsAfterManyGoodSteps) {
  LossScale scale{.factor = first_loss_scale};
  scale.take(/*finite=*/false);
  EXPECT_EQ(scale, (LossScale{.factor = 32768, .good_steps = 0}));
  for (int step = 1; step < steps_to_grow; ++step) scale.take(true);
  EXPECT_EQ(scale, (LossScale{.factor = 32768, .good_steps = steps_to_grow - 1}));
  scale.take(true);
  EXPECT_EQ(scale, (LossScale{.factor = 65536, .good_steps = 0}));
  for (int step = 1; step < steps_to_grow; ++step) scale.take(true);
  scale.take(false);
  EXPECT_EQ(scale, (LossScale{.factor = 32768, .good_steps = 0})) << "they must be in a row";
}

TEST(LossScale, StaysWithinItsBounds) {
  LossScale scale{.factor = 2};
  for (int step = 0; step < 5; ++step) scale.take(false);
  EXPECT_EQ(scale.factor, least_loss_scale);
  scale = {.factor = largest_loss_scale, .good_steps = steps_to_grow - 1};
  scale.take(true);
  EXPECT_EQ(scale.factor, largest_loss_scale);
}

}  // namespace
}  // namespace dllaunch
