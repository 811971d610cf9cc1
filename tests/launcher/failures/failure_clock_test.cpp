#include "launcher/failures/failure_clock.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dllaunch {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <typename Draw>
Moments moments(Draw draw) {
  constexpr int count = 40'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double value = draw(static_cast<std::uint64_t>(i));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

TEST(FailureClock, FactorsHaveMeanOneAndTheirVariation) {
  for (const double cv : {0.2, 0.5, 1.0, 1.5}) {
    const auto found = moments([&](std::uint64_t key) { return uneven_factor(cv, key); });
    EXPECT_NEAR(found.mean, 1, 0.03) << cv;
    EXPECT_NEAR(std::sqrt(found.variance), cv, 0.06) << cv;
  }
  EXPECT_EQ(uneven_factor(0, 7), 1);
}

/// Failures in 100 days of a job that has one a day.
double count_in(const HitRates& hits, std::uint64_t seed) {
  FailureClock clock(hits, seed);
  const double end = 100;
  double count = 0;
  for (double at = clock.next_after(0, hits.nodes, end); at < end;
       at = clock.next_after(at, hits.nodes, end))
    ++count;
  return count;
}

TEST(FailureClock, CountsVaryByChanceAndByUnevenness) {
  const HitRates even{.per_s = 1, .shares = {1}, .nodes = 4};
  const auto poisson = moments([&](std::uint64_t seed) { return count_in(even, seed); });
  EXPECT_NEAR(poisson.mean, 100, 0.5);
  EXPECT_NEAR(poisson.variance, 100, 5);
  auto uneven = even;
  uneven.uneven_run = 0.3;
  const auto mixed = moments([&](std::uint64_t seed) { return count_in(uneven, seed); });
  EXPECT_NEAR(mixed.mean, 100, 1);
  EXPECT_NEAR(mixed.variance, 100 + 0.3 * 0.3 * 1e4, 50);
  uneven = even;
  uneven.uneven_times = 0.3;  // 100 s lie within one period
  const auto period = moments([&](std::uint64_t seed) { return count_in(uneven, seed); });
  EXPECT_NEAR(period.mean, 100, 1);
  EXPECT_NEAR(period.variance, 100 + 0.3 * 0.3 * 1e4, 50);
}

TEST(FailureClock, FewerNodesFailLessOften) {
  const HitRates hits{.per_s = 1, .shares = {1}, .nodes = 4};
  const auto waits = moments(
      [&](std::uint64_t seed) { return FailureClock(hits, seed).next_after(5, 2, 1e9) - 5; });
  EXPECT_NEAR(waits.mean, 2, 0.05);
  EXPECT_TRUE(std::isinf(FailureClock(hits, 1).next_after(0, 0, 1e9))) << "there is no node";
  EXPECT_TRUE(std::isinf(FailureClock(hits, 1).next_after(0, 4, 1e-9))) << "not before the end";
}

TEST(FailureClock, GroupsHaveTheirShares) {
  const HitRates hits{.per_s = 1, .shares = {0.5, 0, 0.5}, .nodes = 4};
  const auto sizes =
      moments([&](std::uint64_t seed) { return FailureClock(hits, seed).group_size(); });
  EXPECT_NEAR(sizes.mean, 2, 0.03);
  EXPECT_NEAR(sizes.variance, 1, 0.01);
}

}  // namespace
}  // namespace dllaunch
