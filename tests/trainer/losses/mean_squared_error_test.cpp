#include "tests/trainer/losses/loss_values.hpp"

namespace dllaunch {
namespace {

const LossChoice choice{.name = "mean_squared_error"};

TEST(MeanSquaredError, IsWrittenOut) {
  const auto [result, gradient] = loss_of(choice, {1, 2, 3, 4}, 2, {.values = {0, 4, 3, -1}});
  EXPECT_DOUBLE_EQ(result.loss_sum, (1 + 4) / 2.0 + 25 / 2.0);
  EXPECT_EQ(gradient, (std::vector<double>{1, -2, 0, 5}));
  EXPECT_EQ(result.correct, 0) << "real numbers are not right or wrong";
}

TEST(MeanSquaredError, OfALabelWantsOneThereAndZeroElsewhere) {
  const auto [result, gradient] = loss_of(choice, {0.5, 2, 0, 1}, 2, {.labels = {0, 1}});
  EXPECT_DOUBLE_EQ(result.loss_sum, (0.25 + 4) / 2);
  EXPECT_EQ(gradient, (std::vector<double>{-0.5, 2, 0, 0}));
  EXPECT_EQ(result.correct, 1);
}

TEST(MeanSquaredError, PassesNaNOn) {
  EXPECT_TRUE(std::isnan(loss_of(choice, {not_a_number}, 1, {.values = {1}}).result.loss_sum));
}

}  // namespace
}  // namespace dllaunch
