#include "trainer/softmax_cross_entropy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace dllaunch {
namespace {

struct Outcome {
  ForwardResult result;
  std::vector<double> gradient;
};

Outcome evaluate(const std::vector<double>& logits, const std::vector<std::int32_t>& labels) {
  Outcome outcome;
  outcome.gradient.resize(logits.size());
  outcome.result = softmax_cross_entropy(logits, labels, outcome.gradient);
  return outcome;
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
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& row :
       {std::vector<double>{nan, 0, 0}, {0, nan, 0}, {0, 0, nan}, {infinity, 0, 0}}) {
    const auto [result, gradient] = evaluate(row, {0});
    EXPECT_TRUE(std::isnan(result.loss_sum));
    EXPECT_EQ(result.correct, 0);
  }
  EXPECT_EQ(evaluate({-infinity, 0, 0}, {0}).result.loss_sum, infinity);
}

TEST(SoftmaxCrossEntropy, OfNothingIsNothing) {
  const auto [result, gradient] = evaluate({}, {});
  EXPECT_EQ(result.loss_sum, 0);
  EXPECT_EQ(result.correct, 0);
}

}  // namespace
}  // namespace dllaunch
