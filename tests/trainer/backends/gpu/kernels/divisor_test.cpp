// Compares with the processor's own division.
#include "trainer/backends/gpu/kernels/divisor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace dllaunch::gpu {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// Powers of two, numbers beside them, and small numbers.
std::vector<std::int64_t> extremes() {
  std::vector<std::int64_t> numbers = {largest - 1, largest};
  for (int bits = 0; bits < 63; ++bits) {
    const std::int64_t power = std::int64_t{1} << bits;
    for (const std::int64_t number : {power - 1, power, power + 1, power + power / 2}) {
      numbers.push_back(number);
    }
  }
  for (std::int64_t number = 0; number < 100; ++number) numbers.push_back(number);
  return numbers;
}

void expect_exact(std::int64_t index, std::int64_t by) {
  const Divisor divisor(by);
  ASSERT_EQ(index / divisor, index / by) << index << " / " << by;
  ASSERT_EQ(index % divisor, index % by) << index << " / " << by;
}

TEST(Divisor, DividesExactlyAtTheExtremes) {
  const std::vector<std::int64_t> numbers = extremes();
  for (const std::int64_t by : numbers) {
    if (by == 0) continue;
    EXPECT_EQ(static_cast<std::int64_t>(Divisor(by)), by);
    for (const std::int64_t index : numbers) expect_exact(index, by);
    // Around multiples of it, where a quotient that is off by a little shows.
    for (const std::int64_t times : {std::int64_t{1}, std::int64_t{7}, largest / by}) {
      if (times > largest / by) continue;
      for (const std::int64_t beside : {-1, 0, 1}) {
        expect_exact(std::min(times * by, largest - 1) + beside, by);
      }
    }
  }
}

TEST(Divisor, DividesRandomNumbersExactly) {
  std::mt19937_64 random(23);
  for (int round = 0; round < 200'000; ++round) {
    const auto index = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    const auto by = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    expect_exact(index, std::max<std::int64_t>(by, 1));
  }
}

TEST(Divisor, DefaultsToOneAndIsAConstant) {
  static_assert(41 * std::int64_t{1} / Divisor() == 41);
  static_assert(std::int64_t{802'816} / Divisor(56) == 14'336);
  static_assert(std::int64_t{1'000'003} % Divisor(1000) == 3);
  EXPECT_EQ(largest / Divisor(), largest);
  EXPECT_EQ(largest % Divisor(), 0);
}

}  // namespace
}  // namespace dllaunch::gpu
