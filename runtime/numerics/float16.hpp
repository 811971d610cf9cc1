// The two 16-bit float formats as bit patterns, with exact conversions. No hardware support and no
// branches: the same code converts numbers and vectors of them.
#pragma once

#include <cstdint>

namespace dllaunch {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits. Largest 65504, smallest 2^-24.
struct Float16 {
  std::uint16_t bits;
};

/// bfloat16, the upper half of binary32: 1 sign, 8 exponent, 7 mantissa bits.
struct BFloat16 {
  std::uint16_t bits;
};

// F is float or a vector of float, U the unsigned 32-bit type of the same shape.

template <typename F, typename U>
[[gnu::always_inline]] constexpr void widen_bfloat16(const U& bits, F& x) {
  x = __builtin_bit_cast(F, bits << 16);
}

template <typename F, typename U>
[[gnu::always_inline]] constexpr void widen_float16(const U& bits, F& x) {
  // Exponent and mantissa, shifted into place, read as a number 2^112 times too small.
  // Multiplication corrects that for subnormal numbers too. Infinity and NaN keep their mantissa.
  const U moved = (bits & 0x7fffu) << 13;
  const U finite = __builtin_bit_cast(U, __builtin_bit_cast(F, moved) * 0x1p112f);
  const U size = moved >= 0x0f800000u ? moved | 0x7f800000u : finite;
  x = __builtin_bit_cast(F, size | ((bits & 0x8000u) << 16));
}

/// Rounds to nearest, ties to even; NaN becomes a quiet NaN.
template <typename F, typename U>
[[gnu::always_inline]] constexpr void narrow_bfloat16(const F& x, U& result) {
  const U bits = __builtin_bit_cast(U, x);
  const U rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  result = ((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded) >> 16;
}

/// Rounds to nearest, ties to even; 65520 and above become infinity; NaN becomes a quiet NaN.
template <typename F, typename U>
[[gnu::always_inline]] constexpr void narrow_float16(const F& x, U& result) {
  const U bits = __builtin_bit_cast(U, x);
  const U size = bits & 0x7fffffffu;
  // 2^-14 and above: exponent re-biased by 112, 13 bits rounded off; a carry reaches infinity.
  const U normal = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
  // Below: the lowest mantissa bit of a number in [0.5, 1) is 2^-24, so the addition rounds.
  const U small = size < 0x38800000u ? size : size & 0u;
  const U subnormal = __builtin_bit_cast(U, __builtin_bit_cast(F, small) + 0.5f) - 0x3f000000u;
  const U nan_or_infinity = size > 0x7f800000u ? (size & 0u) + 0x7e00u : (size & 0u) + 0x7c00u;
  const U finite = size < 0x38800000u ? subnormal : normal;
  result = (size >= 0x47800000u ? nan_or_infinity : finite) | ((bits >> 16) & 0x8000u);
}

constexpr float to_float(Float16 x) {
  float result = 0;
  widen_float16(std::uint32_t{x.bits}, result);
  return result;
}

constexpr float to_float(BFloat16 x) {
  float result = 0;
  widen_bfloat16(std::uint32_t{x.bits}, result);
  return result;
}

constexpr Float16 to_float16(float x) {
  std::uint32_t bits = 0;
  narrow_float16(x, bits);
  return {static_cast<std::uint16_t>(bits)};
}

constexpr BFloat16 to_bfloat16(float x) {
  std::uint32_t bits = 0;
  narrow_bfloat16(x, bits);
  return {static_cast<std::uint16_t>(bits)};
}

}  // namespace dllaunch
