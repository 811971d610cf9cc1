// The loops of compress() and expand(), compiled for several instruction sets as those of reduce():
// error_feedback_x86.cpp, error_feedback_portable.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/communicators/reduction/reduction_kernel.hpp"
#include "runtime/gradients/error_feedback.hpp"

namespace dllaunch {

template <typename T, std::size_t lanes>
[[gnu::always_inline]] inline void compress_vector(float limit, const float* gradients,
                                                   float* residuals, std::byte* wire) {
  using Floats = Vector<float, lanes>;
  using Words = Vector<std::uint32_t, lanes>;
  Floats gradient;
  Floats residual;
  __builtin_memcpy(&gradient, gradients, sizeof gradient);
  __builtin_memcpy(&residual, residuals, sizeof residual);
  const Floats wanted = residual + gradient;
  const auto finite = (__builtin_bit_cast(Words, wanted) & 0x7fffffffu) < 0x7f800000u;
  const Floats high = Floats{} + limit;
  const Floats below = wanted > high ? high : wanted;
  const Floats bounded = below < -high ? -high : below;
  const Floats sent = finite ? bounded : wanted;

  Words bits;
  Floats received;
  if constexpr (std::is_same_v<T, Float16>) {
    narrow_float16(sent, bits);
    widen_float16(bits, received);
  } else {
    narrow_bfloat16(sent, bits);
    widen_bfloat16(bits, received);
  }
  const Floats zero = {};
  const Floats rest = finite ? wanted - received : zero;
  const auto halves = __builtin_convertvector(bits, Vector<std::uint16_t, lanes>);
  __builtin_memcpy(residuals, &rest, sizeof rest);
  __builtin_memcpy(wire, &halves, sizeof halves);
}

template <std::size_t width, typename T>
[[gnu::always_inline]] inline void compress_as(float limit, std::span<const float> gradients,
                                               float* residuals, std::byte* wire) {
  constexpr std::size_t lanes = width / sizeof(float);
  const std::size_t count = gradients.size();
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    compress_vector<T, lanes>(limit, gradients.data() + i, residuals + i, wire + i * sizeof(T));
  }
  for (; i < count; ++i) {
    compress_vector<T, 1>(limit, gradients.data() + i, residuals + i, wire + i * sizeof(T));
  }
}

template <std::size_t width, typename T>
[[gnu::always_inline]] inline void expand_as(const std::byte* wire, std::span<float> gradients) {
  constexpr std::size_t lanes = width / sizeof(float);
  const std::size_t count = gradients.size();
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Vector<float, lanes> x;
    load_vector<T, lanes>(wire + i * sizeof(T), x);
    __builtin_memcpy(gradients.data() + i, &x, sizeof x);
  }
  for (; i < count; ++i) {
    Vector<float, 1> x;
    load_vector<T, 1>(wire + i * sizeof(T), x);
    __builtin_memcpy(gradients.data() + i, &x, sizeof x);
  }
}

template <std::size_t width>
[[gnu::always_inline]] inline void compress_any(DType type, float limit,
                                                std::span<const float> gradients, float* residuals,
                                                std::byte* wire) {
  if (type == DType::f16) return compress_as<width, Float16>(limit, gradients, residuals, wire);
  compress_as<width, BFloat16>(limit, gradients, residuals, wire);
}

template <std::size_t width>
[[gnu::always_inline]] inline void expand_any(DType type, const std::byte* wire,
                                              std::span<float> gradients) {
  if (type == DType::f16) return expand_as<width, Float16>(wire, gradients);
  expand_as<width, BFloat16>(wire, gradients);
}

}  // namespace dllaunch
