#include "tests/trainer/losses/loss_values.hpp"

namespace dllaunch {
namespace {

LossValues evaluate(const std::vector<double>& outputs, int rows, const OwnTargets& targets,
                    double smoothing = 0) {
  return loss_of({.name = "sigmoid_cross_entropy", .label_smoothing = smoothing}, outputs, rows,
                 targets);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(SigmoidCrossEntropy, IsWrittenOut) {
  const auto [result, gradient] = evaluate({2, -1, 0.5, 3}, 2, {.values = {1, 0, 0, 1}});
  const double first = -std::log(sigmoid(2)) - std::log(1 - sigmoid(-1));
  const double second = -std::log(1 - sigmoid(0.5)) - std::log(sigmoid(3));
  EXPECT_DOUBLE_EQ(result.loss_sum, (first + second) / 2);
  EXPECT_EQ(result.correct, 1) << "only the first row has its whole set";
  EXPECT_DOUBLE_EQ(gradient[0], (sigmoid(2) - 1) / 2);
  EXPECT_DOUBLE_EQ(gradient[1], sigmoid(-1) / 2);
  EXPECT_DOUBLE_EQ(gradient[2], sigmoid(0.5) / 2);
}

TEST(SigmoidCrossEntropy, ALabelIsASetOfOneClass) {
  const auto of_label = evaluate({2, -1, 0.5}, 1, {.labels = {2}});
  const auto of_set = evaluate({2, -1, 0.5}, 1, {.values = {0, 0, 1}});
  EXPECT_EQ(of_label.result.loss_sum, of_set.result.loss_sum);
  EXPECT_EQ(of_label.gradient, of_set.gradient);
  EXPECT_EQ(of_label.result.correct, 0);
  EXPECT_EQ(evaluate({2, -1, 0.5}, 1, {.labels = {0}}).result.correct, 1) << "by the largest";
}

TEST(SigmoidCrossEntropy, SmoothsTowardsOneHalf) {
  const auto [result, gradient] = evaluate({1}, 1, {.values = {1}}, 0.2);
  EXPECT_DOUBLE_EQ(result.loss_sum, -0.9 * std::log(sigmoid(1)) - 0.1 * std::log(1 - sigmoid(1)));
  EXPECT_DOUBLE_EQ(gradient[0], sigmoid(1) - 0.9);
}

TEST(SigmoidCrossEntropy, SurvivesLargeOutputs) {
  const auto [result, gradient] = evaluate({4000, -4000}, 1, {.values = {1, 0}});
  EXPECT_EQ(result.loss_sum, 0);
  EXPECT_EQ(gradient, (std::vector<double>{0, 0}));
  EXPECT_EQ(evaluate({4000, -4000}, 1, {.values = {0, 1}}).result.loss_sum, 4000);
}

TEST(SigmoidCrossEntropy, PassesNaNAndInfinityOn) {
  const auto [result, gradient] = evaluate({not_a_number, -1}, 1, {.values = {0, 0}});
  EXPECT_TRUE(std::isnan(result.loss_sum));
  EXPECT_EQ(result.correct, 0);
  EXPECT_EQ(evaluate({-endless, -1}, 1, {.values = {1, 0}}).result.loss_sum, endless);
}

}  // namespace
}  // namespace dllaunch
