// SIMD registers as the compiler's vector types. For functions compiled for one instruction set
// (see reduction_x86.cpp): everything is inlined there, and vectors are passed by reference, so
// that no vector crosses a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/numerics/float16.hpp"

namespace dllaunch {

template <typename T, std::size_t lanes>
struct VectorOf {
  using Type [[gnu::vector_size(lanes * sizeof(T))]] = T;
};
template <typename T, std::size_t lanes>
using Vector = typename VectorOf<T, lanes>::Type;

template <typename T>
constexpr bool is_16_bit_float = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// The type in which a T is summed.
template <typename T>
using Accumulator = std::conditional_t<is_16_bit_float<T>, float, T>;

template <typename T, std::size_t lanes>
[[gnu::always_inline]] inline void load_vector(const std::byte* from,
                                               Vector<Accumulator<T>, lanes>& x) {
  if constexpr (is_16_bit_float<T>) {
    Vector<std::uint16_t, lanes> halves;
    __builtin_memcpy(&halves, from, sizeof halves);
    const auto bits = __builtin_convertvector(halves, Vector<std::uint32_t, lanes>);
    if constexpr (std::is_same_v<T, Float16>) {
      widen_float16(bits, x);
    } else {
      widen_bfloat16(bits, x);
    }
  } else {
    __builtin_memcpy(&x, from, sizeof x);
  }
}

template <typename T, std::size_t lanes>
[[gnu::always_inline]] inline void store_vector(const Vector<Accumulator<T>, lanes>& x,
                                                std::byte* to) {
  if constexpr (is_16_bit_float<T>) {
    Vector<std::uint32_t, lanes> bits;
    if constexpr (std::is_same_v<T, Float16>) {
      narrow_float16(x, bits);
    } else {
      narrow_bfloat16(x, bits);
    }
    const auto halves = __builtin_convertvector(bits, Vector<std::uint16_t, lanes>);
    __builtin_memcpy(to, &halves, sizeof halves);
  } else {
    __builtin_memcpy(to, &x, sizeof x);
  }
}

}  // namespace dllaunch
