#include "runtime/numerics/float16.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace dllaunch {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <typename Half>
Half narrow(float x);
template <>
Float16 narrow<Float16>(float x) {
  return to_float16(x);
}
template <>
BFloat16 narrow<BFloat16>(float x) {
  return to_bfloat16(x);
}

/// The value of the bits, from the definition of the format.
double meaning(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <typename Half>
void check_every_pattern(int exponent_bits, int mantissa_bits) {
  for (int bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double expected = meaning(half.bits, exponent_bits, mantissa_bits);
    const float x = to_float(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(x)) << bits;
      EXPECT_TRUE(std::isnan(to_float(narrow<Half>(x)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(x), expected) << bits;
    ASSERT_EQ(narrow<Half>(x).bits, half.bits);  // including the sign of zero
  }
}

/// x lies between two neighbors: the nearer is right, and of two equally near ones the even one.
template <typename Half>
void check_rounding(float x, std::uint16_t largest) {
  const Half half = narrow<Half>(x);
  const auto size = static_cast<std::uint16_t>(half.bits & 0x7fff);
  const double exact = std::abs(static_cast<double>(x));
  // Beyond the largest number, infinity counts as the next step of equal length.
  const auto value = [largest](std::uint16_t bits) {
    if (bits <= largest) return static_cast<double>(to_float(Half{bits}));
    const double top = static_cast<double>(to_float(Half{largest}));
    const double below =
        static_cast<double>(to_float(Half{static_cast<std::uint16_t>(largest - 1)}));
    return top + (top - below);
  };
  const double error = std::abs(value(size) - exact);
  const bool even = (size & 1) == 0;
  if (size > 0) {
    const double down = exact - value(static_cast<std::uint16_t>(size - 1));
    ASSERT_TRUE(error < down || (error == down && even)) << x;
  }
  if (size <= largest) {
    const double up = value(static_cast<std::uint16_t>(size + 1)) - exact;
    ASSERT_TRUE(error < up || (error == up && even)) << x;
  }
  ASSERT_EQ((half.bits & 0x8000) != 0, std::signbit(x));
}

TEST(Float16, MatchesTheFormatDefinition) {
  check_every_pattern<Float16>(5, 10);
}

TEST(BFloat16, MatchesTheFormatDefinition) {
  check_every_pattern<BFloat16>(8, 7);
}

TEST(Float16, RoundsToTheNearestEven) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-28, 17);
  std::uniform_real_distribution<float> mantissa(-2, 2);
  for (int i = 0; i < 300000; ++i) {
    const float x = std::ldexp(mantissa(random), static_cast<int>(exponent(random)));
    if (std::abs(x) < 65520) check_rounding<Float16>(x, 0x7bff);
    // Exactly between two neighbors.
    const Float16 low{static_cast<std::uint16_t>(random() % 0x7bff)};
    const Float16 high{static_cast<std::uint16_t>(low.bits + 1)};
    check_rounding<Float16>((to_float(low) + to_float(high)) / 2, 0x7bff);
  }
  EXPECT_EQ(to_float(to_float16(65519.996F)), 65504);
  EXPECT_EQ(to_float(to_float16(65520)), infinity);
  EXPECT_EQ(to_float(to_float16(-1e30F)), -infinity);
}

TEST(BFloat16, RoundsToTheNearestEven) {
  std::mt19937 random(8);
  for (int i = 0; i < 300000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(x)) check_rounding<BFloat16>(x, 0x7f7f);
    const std::uint32_t tie = static_cast<std::uint32_t>(random() % 0x7f7f) << 16 | 0x8000u;
    check_rounding<BFloat16>(std::bit_cast<float>(tie), 0x7f7f);
  }
  EXPECT_EQ(to_float(to_bfloat16(std::numeric_limits<float>::max())), infinity);
  EXPECT_EQ(to_float(to_bfloat16(infinity)), infinity);
}

}  // namespace
}  // namespace dllaunch
