#include "launcher/study/scaling_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dllaunch {
namespace {

/// A planted workload: serial part, divisible work, and an all-reduce with latency and bandwidth.
struct Planted {
  double serial = 0.01;
  double work = 1;
  double alpha = 0.002;  // per round
  double beta = 0.05;    // of all bytes
  bool ring = false;

  double at(int p) const {
    const double rounds = ring ? 2.0 * (p - 1) : 2 * std::log2(p);
    return serial + work / p + alpha * rounds + 2 * beta * (p - 1) / p;
  }
};

std::vector<SizeTimes> measured(const Planted& planted, std::vector<int> sizes, int repeats,
                                double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<SizeTimes> all;
  for (const int ranks : sizes) {
    SizeTimes size{.ranks = ranks};
    for (int i = 0; i < repeats; ++i)
      size.times.push_back(planted.at(ranks) * (1 + noise * normal(random)));
    all.push_back(size);
  }
  return all;
}

TEST(ScalingFit, FindsWhatWasPlanted) {
  const Planted planted;
  const auto fit = fit_scaling(measured(planted, {1, 2, 4, 8, 16}, 1, 0, 1), Scaling::strong);
  EXPECT_FALSE(fit.linear);
  // The bandwidth part is a constant minus a p-th.
  EXPECT_NEAR(fit.serial, planted.serial + 2 * planted.beta, 1e-6);
  EXPECT_NEAR(fit.parallel, planted.work - 2 * planted.beta, 1e-6);
  EXPECT_NEAR(fit.exchange, 2 * planted.alpha, 1e-6);
  EXPECT_LT(fit.residual, 1e-6);
  const Planted ring{.alpha = 0.01, .ring = true};
  EXPECT_TRUE(fit_scaling(measured(ring, {1, 2, 4, 8, 16}, 1, 0, 1), Scaling::strong).linear);
}

TEST(ScalingFit, TheUnitOfTimeDoesNotMatter) {
  const std::vector<SizeTimes> seconds = {{1, {340}}, {2, {190}}, {4, {115}}};
  for (const double unit : {1e-9, 1e6, 1e12}) {
    auto sizes = seconds;
    for (auto& size : sizes) size.times[0] *= unit;
    EXPECT_NEAR(fit_scaling(sizes, Scaling::strong).at(8) / unit,
                fit_scaling(seconds, Scaling::strong).at(8), 1e-6)
        << unit;
  }
}

TEST(ScalingFit, ThousandsOfRanks) {
  std::vector<SizeTimes> sizes;
  for (const int p : {64, 256, 1024, 4096}) sizes.push_back({p, {0.01 + 1000.0 / p}});
  const auto fit = fit_scaling(sizes, Scaling::strong);
  EXPECT_NEAR(fit.at(16'384) / (0.01 + 1000.0 / 16'384), 1, 1e-3);
  EXPECT_LT(fit.residual, 1e-6);
}

TEST(ScalingFit, NoTermIsNegative) {
  // Faster than linear: caches. The best fit without negative terms divides all of it.
  const std::vector<SizeTimes> sizes = {{1, {1.0}}, {2, {0.45}}, {4, {0.2}}};
  const auto fit = fit_scaling(sizes, Scaling::strong);
  EXPECT_GE(fit.serial, 0);
  EXPECT_GE(fit.exchange, 0);
  EXPECT_GT(fit.parallel, 0.8);
}

TEST(ScalingFit, WeakScalingHasNoDivisibleWork) {
  std::vector<SizeTimes> sizes;
  for (const int p : {1, 2, 4, 8}) sizes.push_back({p, {1 + 0.05 * std::log2(p)}});
  const auto fit = fit_scaling(sizes, Scaling::weak);
  EXPECT_NEAR(fit.serial, 1, 1e-9);
  EXPECT_EQ(fit.parallel, 0);
  EXPECT_NEAR(fit.exchange, 0.05, 1e-9);
  EXPECT_NEAR(fit.at(64), 1.3, 1e-9);
}

TEST(ScalingFit, OneSizeIsAConstantOrDivides) {
  const std::vector<SizeTimes> one = {{4, {0.5, 0.6, 0.4}}};
  EXPECT_NEAR(fit_scaling(one, Scaling::strong).at(4), 0.5, 1e-9);
  EXPECT_NEAR(fit_scaling(one, Scaling::weak).at(64), 0.5, 1e-9);
}

/// From 1 to 4 ranks to 8, over serial parts and exchanges of many shapes.
TEST(Predict, EightFromOneToFourWithinTenPercent) {
  for (const bool ring : {false, true}) {
    for (const double alpha : {0.0, 0.0005, 0.002}) {
      for (const double serial : {0.0, 0.02, 0.1}) {
        const Planted planted{.serial = serial, .alpha = alpha, .ring = ring};
        const auto sizes = measured(planted, {1, 2, 4}, 3, 0.01, 5);
        const int eight = 8;
        const auto found = predict(sizes, Scaling::strong, {&eight, 1}).front();
        EXPECT_NEAR(found.time / planted.at(8), 1, 0.1) << ring << alpha << " " << serial;
      }
    }
  }
}

/// Of 400 studies, the median of three repeats at 8 ranks lies within the band in 9 of 10.
TEST(Predict, BandsHoldInNineOfTen) {
  for (const double noise : {0.01, 0.05}) {
    const Planted planted;
    const int eight = 8;
    int inside = 0;
    constexpr int studies = 400;
    for (unsigned seed = 0; seed < studies; ++seed) {
      const auto sizes = measured(planted, {1, 2, 4}, 3, noise, seed);
      const auto band = predict(sizes, Scaling::strong, {&eight, 1}).front();
      const auto truth = measured(planted, {8}, 3, noise, seed + 100'000).front();
      const double again = median(truth.times);
      inside += again >= band.low && again <= band.high ? 1 : 0;
    }
    EXPECT_GE(inside, studies * 9 / 10) << noise;
    EXPECT_LT(inside, studies) << "a band that always holds says nothing";
  }
}

TEST(Predict, IsTheSameEachTimeAndWiderWithMoreNoise) {
  const Planted planted;
  const std::vector<int> at = {8, 16, 32};
  const auto quiet = predict(measured(planted, {1, 2, 4}, 3, 0.005, 3), Scaling::strong, at);
  const auto same = predict(measured(planted, {1, 2, 4}, 3, 0.005, 3), Scaling::strong, at);
  const auto loud = predict(measured(planted, {1, 2, 4}, 3, 0.08, 3), Scaling::strong, at);
  for (std::size_t i = 0; i < at.size(); ++i) {
    EXPECT_EQ(quiet[i].low, same[i].low);
    EXPECT_LE(quiet[i].low, quiet[i].time);
    EXPECT_GE(quiet[i].high, quiet[i].time);
    EXPECT_GT(loud[i].high / loud[i].low, quiet[i].high / quiet[i].low);
  }
}

TEST(RelativeSpread, IsPooledAndAssumedWithoutRepeats) {
  const std::vector<SizeTimes> single = {{1, {1}}, {2, {0.5}}};
  EXPECT_EQ(relative_spread(single), 0.05);
  const std::vector<SizeTimes> some = {{1, {0.9, 1.1}}, {2, {0.5}}};
  EXPECT_NEAR(relative_spread(some), std::sqrt(0.02), 1e-9);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace dllaunch
