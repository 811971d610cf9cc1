// The part of a GPU's conversions that the host computes too: NaN, whatever the instruction makes
// of it. float16_test.cpp checks the host's conversions against the definition of the formats.
#include "trainer/backends/gpu/kernels/conversions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dllaunch::gpu {
namespace {

std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

/// What GPUs may make of NaN: one pattern for all, or the mantissa's upper bits.
float instructed(Float16 x, bool one_for_all) {
  const float exact = to_float(x);
  if (exact == exact) return exact;
  return one_for_all ? std::bit_cast<float>(0x7fffffffu)
                     : std::bit_cast<float>(bits_of(exact) | 0x400000u);
}
std::uint16_t instructed(float x, std::uint16_t exact, bool one_for_all) {
  if (x == x) return exact;
  return one_for_all ? std::uint16_t{0x7fff} : static_cast<std::uint16_t>(bits_of(x) >> 16 | 0x7fc);
}

TEST(Conversions, WidenToTheBitsOfTheHost) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 x{static_cast<std::uint16_t>(bits)};
    for (const bool one_for_all : {true, false}) {
      ASSERT_EQ(bits_of(widened(x, instructed(x, one_for_all))), bits_of(to_float(x))) << bits;
    }
  }
}

/// Every exponent with either sign, and mantissas of NaN in the upper, middle and lowest bits.
TEST(Conversions, NarrowToTheBitsOfTheHost) {
  int nans = 0;
  for (std::uint32_t exponent = 0; exponent < 0x200; ++exponent) {
    for (const std::uint32_t mantissa : {0u, 1u, 0x1000u, 0x12345u, 0x400000u, 0x7fffffu}) {
      const auto x = std::bit_cast<float>(exponent << 23 | mantissa);
      nans += std::isnan(x) ? 1 : 0;
      for (const bool one_for_all : {true, false}) {
        const std::uint16_t half = instructed(x, to_float16(x).bits, one_for_all);
        ASSERT_EQ(narrowed(x, Float16{half}).bits, to_float16(x).bits) << x;
        const std::uint16_t brain = instructed(x, to_bfloat16(x).bits, one_for_all);
        ASSERT_EQ(narrowed(x, BFloat16{brain}).bits, to_bfloat16(x).bits) << x;
      }
    }
  }
  EXPECT_EQ(nans, 10);
}

}  // namespace
}  // namespace dllaunch::gpu
