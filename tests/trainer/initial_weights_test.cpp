#include "trainer/initial_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dllaunch {
namespace {

const Parameter weight{.name = "fc.weight", .shape = {100, 50}, .fan_in = 50, .fan_out = 100};

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
  double variance = 0;
  for (const double value : values) variance += value * value / 5000;
  EXPECT_NEAR(variance, limit * limit / 3, 0.02 * limit * limit);
}

TEST(InitialWeights, FollowFromSeedAndName) {
  Parameter other = weight;
  other.name = "fc2.weight";
  EXPECT_EQ(initial_weights(1, weight), initial_weights(1, weight));
  EXPECT_NE(initial_weights(1, weight), initial_weights(2, weight));
  EXPECT_NE(initial_weights(1, weight), initial_weights(1, other));
}

TEST(InitialWeights, BiasesStartAtZero) {
  const Parameter bias{.name = "fc.bias", .shape = {3}, .fan_in = 5, .fan_out = 3, .bias = true};
  EXPECT_EQ(initial_weights(1, bias), std::vector<double>(3));
}

}  // namespace
}  // namespace dllaunch
