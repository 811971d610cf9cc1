#include "trainer/metrics/regression_metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace dllaunch {
namespace {

TEST(RegressionMetrics, AreMeansOverAllNumbers) {
  RegressionMetrics metrics;
  EXPECT_FALSE(metrics.mean_absolute_error());
  EXPECT_FALSE(metrics.mean_squared_error());
  metrics.add(std::vector<double>{1, 2}, std::vector<float>{3, 2});
  metrics.add(std::vector<double>{-1, 0.5}, std::vector<float>{0, 0.5});
  EXPECT_DOUBLE_EQ(metrics.mean_absolute_error().value(), 0.75);
  EXPECT_DOUBLE_EQ(metrics.mean_squared_error().value(), 1.25);
  metrics.add(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}, std::vector<float>{0});
  EXPECT_TRUE(std::isnan(metrics.mean_absolute_error().value()));
}

}  // namespace
}  // namespace dllaunch
