#include "trainer/backends/channel_moments.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace dllaunch {
namespace {

/// Returns the moments of one channel.
ChannelMoments moments_of(const std::vector<double>& values) {
  if (values.empty()) return {.count = 0, .mean = {0}, .squares = {0}};
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.count = count, .mean = {mean}, .squares = {squares}};
}

/// Returns the values that a rank contributes to the collective.
std::vector<double> brought(ChannelMoments moments) {
  std::vector<double> sums;
  allreduce_moments(moments, [&](std::span<double> own) { sums.assign(own.begin(), own.end()); });
  return sums;
}

ChannelMoments together(const std::vector<std::vector<double>>& ranks) {
  ChannelMoments moments = moments_of(ranks[0]);
  allreduce_moments(moments, [&](std::span<double> sums) {
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      const auto others = brought(moments_of(ranks[rank]));
      ASSERT_EQ(others.size(), sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
    }
  });
  return moments;
}

TEST(ChannelMoments, OfPartsAreThoseOfAllValues) {
  std::mt19937 random(1);
  for (const double middle : {0.0, 3.0, -1000.0}) {
    std::normal_distribution<double> normal(middle, 2);
    std::vector<std::vector<double>> ranks;
    std::vector<double> all;
    for (const int count : {7, 0, 1, 100}) {
      std::vector<double> values(static_cast<std::size_t>(count));
      for (double& value : values) value = normal(random);
      all.insert(all.end(), values.begin(), values.end());
      ranks.push_back(std::move(values));
    }
    const ChannelMoments whole = moments_of(all);
    const ChannelMoments parts = together(ranks);
    const double lost = 1e-15 * (1 + middle * middle);
    EXPECT_EQ(parts.count, whole.count);
    EXPECT_NEAR(parts.mean[0], whole.mean[0], 1e-15 * (1 + std::abs(middle)) * 10);
    EXPECT_NEAR(parts.squares[0], whole.squares[0], lost * whole.squares[0]);
  }
}

TEST(ChannelMoments, AreNeverNegativeWhereAllValuesAreOne) {
  for (const double value : {0.1, 1e6 + 0.1, -1e20}) {
    const ChannelMoments parts = together({{value, value, value}, {value}, {}, {value, value}});
    EXPECT_EQ(parts.count, 6);
    EXPECT_NEAR(parts.mean[0], value, 1e-15 * std::abs(value));
    EXPECT_GE(parts.squares[0], 0);
    EXPECT_LE(parts.squares[0], 1e-14 * value * value);
  }
}

TEST(ChannelMoments, LetWhatIsNoNumberPass) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ChannelMoments parts = together({{1, 2}, {nan}, {3}});
  EXPECT_TRUE(std::isnan(parts.mean[0]));
  EXPECT_TRUE(std::isnan(parts.squares[0]));
}

TEST(ChannelMoments, OfNobodyAreLeftAsTheyAre) {
  const ChannelMoments parts = together({{}, {}});
  EXPECT_EQ(parts.count, 0);
  EXPECT_EQ(parts.mean[0], 0);
}

TEST(ChannelMoments, OfOneRankAloneStayToTheLastBit) {
  const ChannelMoments before = moments_of({0.1, 0.7, 1e9});
  ChannelMoments after = before;
  allreduce_moments(after, {});
  EXPECT_EQ(after.mean, before.mean);
  EXPECT_EQ(after.squares, before.squares);
}

}  // namespace
}  // namespace dllaunch
