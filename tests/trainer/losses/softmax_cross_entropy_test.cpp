#include "tests/trainer/losses/loss_values.hpp"

namespace dllaunch {
namespace {

LossValues evaluate(const std::vector<double>& outputs, const std::vector<std::int32_t>& labels,
                    double smoothing = 0) {
  return loss_of({.name = "softmax_cross_entropy", .label_smoothing = smoothing}, outputs,
                 static_cast<int>(labels.size()), {.labels = labels});
}

TEST(SoftmaxCrossEntropy, IsWrittenOut) {
  const double e = std::exp(1.0);
  const auto [result, gradient] = evaluate({1, 0, 0, 0, 0, 0}, {0, 2});
  EXPECT_DOUBLE_EQ(result.loss_sum, -std::log(e / (e + 2)) + std::log(3.0));
  EXPECT_EQ(result.correct, 1);
  EXPECT_DOUBLE_EQ(gradient[0], e / (e + 2) - 1);
  EXPECT_DOUBLE_EQ(gradient[1], 1 / (e + 2));
  EXPECT_DOUBLE_EQ(gradient[3], 1.0 / 3);
  EXPECT_DOUBLE_EQ(gradient[5], 1.0 / 3 - 1);
}

TEST(SoftmaxCrossEntropy, SmoothsLabelsOverAllClasses) {
  const double p = std::exp(1.0) / (std::exp(1.0) + 1);
  const auto [result, gradient] = evaluate({1, 0}, {0}, 0.2);
  EXPECT_DOUBLE_EQ(result.loss_sum, -0.9 * std::log(p) - 0.1 * std::log(1 - p));
  EXPECT_DOUBLE_EQ(gradient[0], p - 0.9);
  EXPECT_DOUBLE_EQ(gradient[1], 1 - p - 0.1);
}

TEST(SoftmaxCrossEntropy, SurvivesLargeLogits) {
  const auto [result, gradient] = evaluate({5000, 4000, -5000}, {0});
  EXPECT_EQ(result.loss_sum, 0);
  EXPECT_EQ(gradient, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(evaluate({5000, 4000, -5000}, {2}).result.loss_sum, 10000);
}

TEST(SoftmaxCrossEntropy, TakesTheFirstOfEqualLogits) {
  EXPECT_EQ(evaluate({2, 2, 1}, {0}).result.correct, 1);
  EXPECT_EQ(evaluate({2, 2, 1}, {1}).result.correct, 0);
}

TEST(SoftmaxCrossEntropy, PassesNaNAndInfinityOn) {
  for (const std::vector<double>& row : {std::vector<double>{not_a_number, 0, 0},
                                         {0, not_a_number, 0},
                                         {0, 0, not_a_number},
                                         {endless, 0, 0}}) {
    for (const double smoothing : {0.0, 0.1}) {
      const auto [result, gradient] = evaluate(row, {0}, smoothing);
      EXPECT_TRUE(std::isnan(result.loss_sum));
      EXPECT_EQ(result.correct, 0);
    }
  }
  EXPECT_EQ(evaluate({-endless, 0, 0}, {0}).result.loss_sum, endless);
}

TEST(SoftmaxCrossEntropy, OfNothingIsNothing) {
  const auto [result, gradient] = evaluate({}, {});
  EXPECT_EQ(result.loss_sum, 0);
  EXPECT_EQ(result.correct, 0);
}

}  // namespace
}  // namespace dllaunch
