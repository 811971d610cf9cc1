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

/// The planted exchange of which computation hides all but `share`.
struct Hidden {
  Planted planted = {};
  double share = 1;

  double exchange(int p) const {
    Planted alone = planted;
    alone.serial = alone.work = 0;
    return alone.at(p);
  }
  std::vector<SizeTimes> measured(std::vector<int> sizes, int repeats, double noise,
                                  unsigned seed) const {
    auto all = dllaunch::measured(planted, std::move(sizes), repeats, 0, seed);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (SizeTimes& size : all)
      for (double& time : size.times)
        time = (time - (1 - share) * exchange(size.ranks)) * (1 + noise * normal(random));
    return all;
  }
  double at(int p) const { return measured({p}, 1, 0, 1).front().times.front(); }
  ExchangeTime bound() const {
    return [*this](int p) { return exchange(p); };
  }
};

constexpr Planted slow_network{.serial = 0.01, .alpha = 0.01, .beta = 0.05, .ring = true};

TEST(MeasuredExchange, ItsShareIsFoundAndStaysWithinNoneAndAll) {
  for (const double share : {0.0, 0.4, 1.0}) {
    const Hidden job{.planted = slow_network, .share = share};
    const auto fit =
        fit_scaling(job.measured({1, 2, 4, 8, 16}, 5, 0.002, 3), Scaling::strong, job.bound());
    EXPECT_NEAR(fit.exchange, share, 0.1);
    EXPECT_LT(fit.residual, 0.005);
    EXPECT_NEAR(fit.at(16) / job.at(16), 1, 0.01);
  }
  // Three times slower than measured: the rest is not an exchange, and the fit is bad.
  const Hidden slower{.planted = slow_network, .share = 3};
  const auto fit =
      fit_scaling(slower.measured({1, 2, 4, 8, 16}, 3, 0.005, 3), Scaling::strong, slower.bound());
  EXPECT_NEAR(fit.exchange, 1, 0.02);
  EXPECT_GT(fit.residual, 0.02);
  // An exchange that is longer than the times themselves leaves nothing negative.
  const auto tiny = fit_scaling(std::vector<SizeTimes>{{1, {1}}, {2, {0.5}}}, Scaling::strong,
                                [](int p) { return p > 1 ? 10.0 : 0.0; });
  EXPECT_GE(tiny.serial, 0);
  EXPECT_GE(tiny.parallel, 0);
  EXPECT_NEAR(tiny.at(2), 0.5, 0.05);
}

TEST(MeasuredExchange, NoExchangeLeavesTheRestAsItIs) {
  const auto sizes = measured({.alpha = 0, .beta = 0}, {1, 2, 4}, 3, 0.01, 5);
  const auto none = fit_scaling(sizes, Scaling::weak, [](int) { return 0.0; });
  EXPECT_GT(none.serial, 0);
  EXPECT_EQ(none.parallel, 0);
}

/// From 1 to 4 ranks, and from 1 and 2, to 8.
TEST(MeasuredExchange, EightWithinTenPercent) {
  const int eight = 8;
  for (const bool ring : {false, true}) {
    for (const double alpha : {0.0, 0.0005, 0.002}) {
      for (const double share : {0.0, 0.5, 1.0}) {
        const Hidden job{.planted = {.alpha = alpha, .ring = ring}, .share = share};
        for (const auto& sizes : {std::vector{1, 2, 4}, std::vector{1, 2}}) {
          const auto found =
              predict(job.measured(sizes, 3, 0.01, 5), Scaling::strong, {&eight, 1}, job.bound());
          EXPECT_NEAR(found.front().time / job.at(8), 1, 0.1) << ring << alpha << " " << share;
        }
      }
    }
  }
}

struct Held {
  int inside = 0;
  double width = 0;  // mean of high / low
  double error = 0;  // mean
};

/// Of `studies` studies, how often the median of three repeats at 8 ranks lies within the band.
Held held(const Hidden& job, const std::vector<int>& sizes, double noise, int studies, bool bound) {
  Held held;
  const int eight = 8;
  for (int i = 0; i < studies; ++i) {
    const auto seed = static_cast<unsigned>(i);
    const auto band = predict(job.measured(sizes, 3, noise, seed), Scaling::strong, {&eight, 1},
                              bound ? job.bound() : ExchangeTime())
                          .front();
    const double again = median(job.measured({8}, 3, noise, seed + 100'000).front().times);
    held.inside += again >= band.low && again <= band.high ? 1 : 0;
    held.width += band.high / band.low / studies;
    held.error += std::abs(band.time / job.at(8) - 1) / studies;
  }
  return held;
}

TEST(MeasuredExchange, BandsHoldInNineOfTenAndAreNarrower) {
  constexpr int studies = 100;
  for (const double noise : {0.01, 0.05}) {
    for (const double share : {0.0, 0.5, 1.0}) {
      const Hidden job{.share = share};
      const auto with = held(job, {1, 2, 4}, noise, studies, true);
      const auto without = held(job, {1, 2, 4}, noise, studies, false);
      EXPECT_GE(with.inside, studies * 9 / 10) << noise << " " << share;
      EXPECT_LT(with.width, without.width) << noise << " " << share;
    }
  }
}

/// The free fit of two sizes takes all that does not divide for serial: the latency of eight is
/// unknown to it.
TEST(MeasuredExchange, TwoSizesAreEnoughOnlyWithIt) {
  constexpr int studies = 100;
  const Hidden job{.planted = slow_network, .share = 1};
  const auto without = held(job, {1, 2}, 0.01, studies, false);
  const auto with = held(job, {1, 2}, 0.01, studies, true);
  EXPECT_LT(without.inside, studies / 2);
  EXPECT_GE(with.inside, studies * 9 / 10);
  EXPECT_LT(with.error, without.error);
  for (const double share : {0.0, 0.5})
    EXPECT_GE(held({.planted = slow_network, .share = share}, {1, 2}, 0.01, studies, true).inside,
              studies * 9 / 10)
        << share;
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
