#include "trainer/graph/initial_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dllaunch {
namespace {

const Parameter weight{.name = "fc.weight",
                       .shape = {100, 50},
                       .fan_in = 50,
                       .fan_out = 100,
                       .initial = Initial::glorot_uniform};

Parameter of(Initial initial) {
  Parameter parameter = weight;
  parameter.initial = initial;
  return parameter;
}

double variance(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / n;
}

TEST(InitialWeights, AreGlorotUniform) {
  const auto values = initial_weights(1, weight);
  ASSERT_EQ(values.size(), 5000u);
  const double limit = std::sqrt(6.0 / 150);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -limit);
  EXPECT_LE(*most, limit);
  EXPECT_LT(*least, -0.99 * limit);
  EXPECT_GT(*most, 0.99 * limit);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 5000;
  EXPECT_NEAR(mean, 0, 0.04 * limit);
  EXPECT_NEAR(variance(values), limit * limit / 3, 0.02 * limit * limit);
}

TEST(InitialWeights, FollowFromSeedAndName) {
  Parameter other = weight;
  other.name = "fc2.weight";
  EXPECT_EQ(initial_weights(1, weight), initial_weights(1, weight));
  EXPECT_NE(initial_weights(1, weight), initial_weights(2, weight));
  EXPECT_NE(initial_weights(1, weight), initial_weights(1, other));
}

TEST(InitialWeights, APartHasTheValuesOfTheWhole) {
  for (const Initial initial : {Initial::glorot_uniform, Initial::he_normal, Initial::ones}) {
    const auto all = initial_weights(1, of(initial));
    for (const auto& [first, count] : {std::pair(0, 5000), {1, 6}, {2, 7}, {4999, 1}, {7, 0}}) {
      const std::vector<double> part(all.begin() + first, all.begin() + first + count);
      EXPECT_EQ(initial_weights(1, of(initial), first, count), part) << first;
    }
  }
}

TEST(InitialWeights, AreZeroOrOneWhereTheGraphSaysSo) {
  EXPECT_EQ(initial_weights(1, of(Initial::zeros)), std::vector<double>(5000));
  EXPECT_EQ(initial_weights(1, of(Initial::ones)), std::vector<double>(5000, 1.0));
}

TEST(InitialWeights, AreNormalAsHeWroteOverTheOutputs) {
  const auto values = initial_weights(1, of(Initial::he_normal));
  const double deviation = std::sqrt(2.0 / 100);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 5000, 0, 0.05 * deviation);
  EXPECT_NEAR(variance(values), deviation * deviation, 0.05 * deviation * deviation);
  const auto within =
      std::ranges::count_if(values, [&](double value) { return std::abs(value) < deviation; });
  EXPECT_NEAR(static_cast<double>(within) / 5000, 0.6827, 0.02) << "a normal one";
}

TEST(InitialWeights, AreUniformOverTheInputsAsPyTorchsLinear) {
  const auto values = initial_weights(1, of(Initial::torch_uniform));
  const double limit = 1 / std::sqrt(50.0);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -limit);
  EXPECT_LE(*most, limit);
  EXPECT_NEAR(variance(values), limit * limit / 3, 0.02 * limit * limit);
}

}  // namespace
}  // namespace dllaunch
