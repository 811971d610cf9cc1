#include "launcher/drawing/ticks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace dllaunch {
namespace {

using Labels = std::vector<std::string>;

TEST(Ticks, AreRoundNumbers) {
  EXPECT_EQ(linear_ticks(0, 10, 6).labels, (Labels{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(linear_ticks(0.13, 0.87, 6).labels, (Labels{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(linear_ticks(0, 12'900, 6).labels, (Labels{"0", "5,000", "10,000", "15,000"}));
  EXPECT_EQ(linear_ticks(0, 4e7, 5).labels,
            (Labels{"0", "10,000,000", "20,000,000", "30,000,000", "40,000,000"}));
  EXPECT_EQ(logarithmic_ticks(2e6, 5e7, 6).labels,
            (Labels{"2,000,000", "5,000,000", "10,000,000", "20,000,000", "50,000,000"}));
  EXPECT_EQ(linear_ticks(-3, 3, 5).labels, (Labels{"-4", "-2", "0", "2", "4"}));
  EXPECT_EQ(linear_ticks(7, 7, 5).low, 6.0);
  EXPECT_EQ(logarithmic_ticks(2.1, 4.9, 6).labels, (Labels{"2", "3", "4", "5"}));
  EXPECT_EQ(logarithmic_ticks(0.4, 6.9, 6).labels, (Labels{"0.5", "1", "2", "5"}));
  EXPECT_EQ(logarithmic_ticks(1e-6, 1e6, 7).labels,
            (Labels{"0.000001", "0.0001", "0.01", "1", "100", "10,000", "1,000,000"}));
}

TEST(Ticks, ALogarithmicAxisNeedsAFactorOfTwo) {
  EXPECT_FALSE(logarithmic_ticks(1, 1.5, 6).logarithmic);
  EXPECT_FALSE(logarithmic_ticks(0, 10, 6).logarithmic);
  const auto ticks = logarithmic_ticks(1, 100, 6);
  ASSERT_TRUE(ticks.logarithmic);
  EXPECT_DOUBLE_EQ(ticks.share(1), 0);
  EXPECT_DOUBLE_EQ(ticks.share(10), 0.5);
  EXPECT_DOUBLE_EQ(ticks.share(100), 1);
}

TEST(Ticks, ShortNumbers) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.012345), "0.01235");
  EXPECT_EQ(short_number(12'912.4), "12,912");
  EXPECT_EQ(short_number(-1'250'000), "-1,250,000");
  EXPECT_EQ(short_number(12'500'000), "12,500,000");
  EXPECT_EQ(short_number(0.00005), "0.00005");
  EXPECT_EQ(short_number(-0.0000123456), "-0.00001235");
  EXPECT_EQ(short_number(9.9999e-7), "1e-06");
  EXPECT_EQ(short_number(0.912346, 5), "0.91235");
  EXPECT_EQ(short_number(2.5e12), "2.5e+12");
  EXPECT_EQ(short_number(std::nan("")), "");
}

/// Whatever the numbers: the axis contains them, and its ticks ascend, are few and differ.
TEST(Ticks, HoldForAnyNumbers) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-320, 308);
  for (int i = 0; i < 20'000; ++i) {
    const auto number = [&] {
      return (random() % 2 == 0 ? 1 : -1) *
             std::pow(10.0, random() % 8 == 0 ? -400 : exponent(random));
    };
    const double a = number();
    const double b = random() % 4 == 0 ? a * (1 + 1e-12) : number();
    const int most = 3 + static_cast<int>(random() % 9);
    for (const Ticks& ticks :
         {linear_ticks(a, b, most), logarithmic_ticks(std::abs(a), std::abs(b), most)}) {
      ASSERT_EQ(ticks.at.size(), ticks.labels.size());
      ASSERT_LE(ticks.at.size(), 3 * static_cast<std::size_t>(most) + 3) << a << " " << b;
      ASSERT_TRUE(std::ranges::is_sorted(ticks.at));
      ASSERT_LT(ticks.low, ticks.high) << a << " " << b;
      for (const double at : ticks.at) ASSERT_TRUE(std::isfinite(ticks.share(at))) << a << " " << b;
    }
    const Ticks ticks = linear_ticks(a, b, most);
    ASSERT_LE(ticks.at.size(), static_cast<std::size_t>(most)) << a << " " << b;
    const double slack = 1e-6 * (ticks.high - ticks.low) + 1e-290;
    for (const double end : {a, b}) {
      if (std::abs(end) > 1e299) continue;
      ASSERT_GE(end, ticks.low - slack) << a << " " << b;
      ASSERT_LE(end, ticks.high + slack) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace dllaunch
