// Conversions of 16-bit floats: in GPU code by the GPU's own instructions, one for what takes the
// host about twenty. The bits are those of runtime/numerics/float16.hpp: instructions round to
// nearest, ties to even, with subnormals, but choose the bits of NaN themselves.
#pragma once

#include <cstdint>

#include "runtime/numerics/float16.hpp"

namespace dllaunch::gpu {

/// The host's float of x, given what an instruction makes of it: NaN keeps sign and mantissa.
constexpr float widened(Float16 x, float converted) {
  // The shifted sign fills the exponent's upper bits where it is set.
  const std::int32_t nan = static_cast<std::int16_t>(x.bits) * 0x2000 | 0x7f800000;
  return converted == converted ? converted : __builtin_bit_cast(float, nan);
}

/// The host's 16 bits of x, given what an instruction makes of it: NaN becomes a quiet NaN.
constexpr Float16 narrowed(float x, Float16 converted) {
  const std::uint32_t sign = __builtin_bit_cast(std::uint32_t, x) >> 16 & 0x8000u;
  return x == x ? converted : Float16{static_cast<std::uint16_t>(sign | 0x7e00u)};
}
constexpr BFloat16 narrowed(float x, BFloat16 converted) {
  const std::uint32_t upper = __builtin_bit_cast(std::uint32_t, x) >> 16;
  return x == x ? converted : BFloat16{static_cast<std::uint16_t>(upper | 0x40u)};
}

constexpr float get(float x) {
  return x;
}
constexpr float get(BFloat16 x) {
  return to_float(x);
}
constexpr void set(float& to, float value) {
  to = value;
}

#if defined(__CUDA_ARCH__)
constexpr float get(Float16 x) {
  float converted;
  asm("cvt.f32.f16 %0, %1;" : "=f"(converted) : "h"(x.bits));
  return widened(x, converted);
}
constexpr void set(Float16& to, float value) {
  Float16 converted;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(converted.bits) : "f"(value));
  to = narrowed(value, converted);
}
#elif defined(__HIP_DEVICE_COMPILE__)
constexpr float get(Float16 x) {
  return widened(x, static_cast<float>(__builtin_bit_cast(_Float16, x.bits)));
}
constexpr void set(Float16& to, float value) {
  to = narrowed(value, __builtin_bit_cast(Float16, static_cast<_Float16>(value)));
}
#else
constexpr float get(Float16 x) {
  return to_float(x);
}
constexpr void set(Float16& to, float value) {
  to = to_float16(value);
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
constexpr void set(BFloat16& to, float value) {
  BFloat16 converted;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(converted.bits) : "f"(value));
  to = narrowed(value, converted);
}
#else
constexpr void set(BFloat16& to, float value) {
  to = to_bfloat16(value);
}
#endif

}  // namespace dllaunch::gpu
