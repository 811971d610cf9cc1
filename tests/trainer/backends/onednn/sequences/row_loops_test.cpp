// Compares the loops over rows with their definition in double, at all vector widths of this CPU.
// backend_test.cpp compares whole layers with `reference`.
#include "trainer/backends/onednn/sequences/row_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace dllaunch::onednn {
namespace {

constexpr std::size_t lengths[] = {1, 2, 15, 16, 17, 64, 65, 200};

std::vector<float> normal(std::size_t count, unsigned seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

/// Softmax of scale * x in double.
std::vector<double> softmax_of(const std::vector<float>& x, std::size_t n, double scale) {
  std::vector<double> p(n);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, scale * x[i]);
  for (std::size_t i = 0; i < n; ++i) p[i] = std::exp(scale * x[i] - largest);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& each : p) each /= sum;
  return p;
}

std::size_t padded(std::size_t n) {
  return (n + 15) / 16 * 16;
}

class RowLoops : public testing::TestWithParam<RowKernels> {};

TEST_P(RowLoops, GiveTheSoftmaxAndZerosBehindIt) {
  for (const std::size_t n : lengths) {
    for (const float deviation : {1.F, 30.F, 1000.F}) {
      std::vector<float> x = normal(padded(n) + 16, 1, deviation);
      const std::vector<double> wanted = softmax_of(x, n, 0.3);
      GetParam().softmax(x.data(), n, padded(n) + 16, 0.3F);
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(x[i], wanted[i], 2e-6) << n << " " << i;
      for (std::size_t i = n; i < x.size(); ++i) EXPECT_EQ(x[i], 0.F) << n << " " << i;
    }
  }
}

TEST_P(RowLoops, KeepNaN) {
  for (const std::size_t n : lengths) {
    std::vector<float> x = normal(padded(n), 1);
    x[n / 2] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(GetParam().sum_logits(x.data(), n).exponentials)) << n;
    GetParam().softmax(x.data(), n, padded(n), 1);
    EXPECT_TRUE(std::isnan(x[0])) << n;
  }
}

TEST_P(RowLoops, GiveTheGradientOfTheSoftmax) {
  for (const std::size_t n : {16U, 64U, 208U}) {
    const std::vector<float> p = normal(n, 2);
    std::vector<float> dp = normal(n, 3);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += double{p[i]} * dp[i];
    const std::vector<float> before = dp;
    GetParam().softmax_backward(p.data(), dp.data(), n, 0.5F);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(dp[i], 0.5 * p[i] * (before[i] - sum), 1e-4) << n << " " << i;
    }
  }
}

TEST_P(RowLoops, SumLogitsAndGiveTheirGradients) {
  for (const std::size_t n : lengths) {
    const std::vector<float> x = normal(n, 4, 5);
    const LogitSums of = GetParam().sum_logits(x.data(), n);
    const float largest = *std::max_element(x.begin(), x.end());
    double exponentials = 0;
    double distances = 0;
    for (const float each : x) {
      exponentials += std::exp(double{each} - largest);
      distances += double{each} - largest;
    }
    EXPECT_EQ(of.largest, largest);
    EXPECT_NEAR(of.exponentials, exponentials, 2e-6 * exponentials) << n;
    EXPECT_NEAR(of.distances, distances, 1e-5 * std::abs(distances)) << n;
    std::vector<float> dx = x;  // in place
    GetParam().logit_gradients(x.data(), dx.data(), n, largest, 0.25F, 0.125F);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(dx[i], 0.25 * std::exp(double{x[i]} - largest) - 0.125, 1e-6) << n << " " << i;
    }
  }
}

TEST_P(RowLoops, NormaliseATokenAndGiveItsGradients) {
  for (const std::size_t n : lengths) {
    const auto x = normal(n, 5, 3);
    const auto weight = normal(n, 6);
    const auto bias = normal(n, 7);
    const auto dy = normal(n, 8);
    std::vector<float> y(n);
    std::vector<float> dx(n);
    std::vector<float> dweight(n, 1.F);
    std::vector<float> dbias(n, 2.F);
    NormRow row{.width = n, .x = x.data(), .weight = weight.data(), .bias = bias.data()};
    row.y = y.data();
    GetParam().layer_norm(row, 0.01F);
    row.dy = dy.data();
    row.dx = dx.data();
    row.dweight = dweight.data();
    row.dbias = dbias.data();
    GetParam().layer_norm_backward(row);

    const auto width = static_cast<double>(n);
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / width;
    double squares = 0;
    for (const float each : x) squares += (each - mean) * (each - mean);
    const double inv_std = 1 / std::sqrt(squares / width + 0.01);
    double sum = 0;
    double sum_z = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += double{dy[i]} * weight[i];
      sum_z += double{dy[i]} * weight[i] * (x[i] - mean) * inv_std;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double z = (x[i] - mean) * inv_std;
      const double wanted = inv_std * (double{dy[i]} * weight[i] - sum / width - z * sum_z / width);
      EXPECT_NEAR(y[i], z * weight[i] + bias[i], 1e-5) << n << " " << i;
      EXPECT_NEAR(dx[i], wanted, 1e-5 * std::max(1.0, inv_std)) << n << " " << i;
      EXPECT_NEAR(dweight[i], 1 + dy[i] * z, 1e-5) << n << " " << i;
      EXPECT_NEAR(dbias[i], 2 + dy[i], 1e-6) << n << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, RowLoops, testing::ValuesIn(row_kernel_variants()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace dllaunch::onednn
