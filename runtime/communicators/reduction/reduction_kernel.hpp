// The loop of reduce(), written with the compiler's vector types and compiled for several
// instruction sets: reduction_x86.cpp, reduction_portable.cpp.
#pragma once

#include <array>
#include <type_traits>

#include "runtime/communicators/reduction/reduction.hpp"
#include "runtime/numerics/vectors.hpp"

namespace dllaunch {

// `width` is a vector register in bytes. Everything is inlined into one function per instruction
// set, and vectors are passed by reference: no vector crosses a call.

template <typename T, std::size_t lanes, typename Destinations>
[[gnu::always_inline]] inline void store_to_all(const Vector<Accumulator<T>, lanes>& x,
                                                const Destinations& destinations, std::size_t at) {
  for (std::byte* to : destinations) store_vector<T, lanes>(x, to + at);
}

/// Integers wrap around, which C++ defines for unsigned ones only.
template <typename V>
[[gnu::always_inline]] inline void add_vector(V& a, const V& b) {
  using Element = std::remove_cvref_t<decltype(a[0])>;
  if constexpr (std::is_integral_v<Element>) {
    using Unsigned = Vector<std::make_unsigned_t<Element>, sizeof(V) / sizeof(Element)>;
    a = __builtin_bit_cast(V, __builtin_bit_cast(Unsigned, a) + __builtin_bit_cast(Unsigned, b));
  } else {
    a = a + b;
  }
}

template <ReduceOp op, typename V>
[[gnu::always_inline]] inline void combine_vectors(V& a, const V& b) {
  if constexpr (op == ReduceOp::sum || op == ReduceOp::average) {
    add_vector(a, b);
  } else {
    const V lesser = a < b ? a : b;
    const V greater = a > b ? a : b;
    a = a != a ? a : (b != b ? b : (op == ReduceOp::min ? lesser : greater));
  }
}

/// Reduces `vectors` registers' worth of elements, starting at byte `at`.
template <typename T, ReduceOp op, std::size_t lanes, std::size_t vectors, typename Sources,
          typename Destinations>
[[gnu::always_inline]] inline void reduce_at(const Sources& sources,
                                             const Destinations& destinations, std::size_t at,
                                             Accumulator<T> divisor) {
  constexpr std::size_t stride = lanes * sizeof(T);
  Vector<Accumulator<T>, lanes> result[vectors];
  for (std::size_t v = 0; v < vectors; ++v)
    load_vector<T, lanes>(sources[0] + at + v * stride, result[v]);
  for (std::size_t s = 1; s < sources.size(); ++s) {
    for (std::size_t v = 0; v < vectors; ++v) {
      Vector<Accumulator<T>, lanes> x;
      load_vector<T, lanes>(sources[s] + at + v * stride, x);
      combine_vectors<op>(result[v], x);
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    if constexpr (op == ReduceOp::average) result[v] = result[v] / divisor;
    store_to_all<T, lanes>(result[v], destinations, at + v * stride);
  }
}

template <std::size_t width, typename T, ReduceOp op>
[[gnu::always_inline]] inline void reduce_all(const auto& sources, const auto& destinations,
                                              std::size_t count, Accumulator<T> divisor) {
  constexpr std::size_t lanes = width / sizeof(Accumulator<T>);
  constexpr std::size_t vectors = 4;  // enough additions in flight to hide their latency
  std::size_t i = 0;
  for (; i + vectors * lanes <= count; i += vectors * lanes) {
    reduce_at<T, op, lanes, vectors>(sources, destinations, i * sizeof(T), divisor);
  }
  for (; i < count; ++i) {
    reduce_at<T, op, 1, 1>(sources, destinations, i * sizeof(T), divisor);
  }
}

template <std::size_t width, typename T, ReduceOp op>
[[gnu::always_inline]] inline void reduce_as(int ranks, std::span<const std::byte* const> sources,
                                             std::span<std::byte* const> destinations,
                                             std::size_t count) {
  // 256 ranks become 0 in a byte. An average of bytes is useless, but must not divide by zero.
  const auto wrapped = static_cast<Accumulator<T>>(ranks);
  const auto divisor = wrapped == Accumulator<T>{0} ? Accumulator<T>{1} : wrapped;
  // Two ranks per node are common, and twice as fast if the four addresses stay in registers.
  if (sources.size() == 2 && destinations.size() == 2) {
    const std::array<const std::byte*, 2> from = {sources[0], sources[1]};
    const std::array<std::byte*, 2> to = {destinations[0], destinations[1]};
    reduce_all<width, T, op>(from, to, count, divisor);
  } else {
    reduce_all<width, T, op>(sources, destinations, count, divisor);
  }
}

template <std::size_t width, typename T>
[[gnu::always_inline]] inline void reduce_type(const Reduction& reduction,
                                               std::span<const std::byte* const> sources,
                                               std::span<std::byte* const> destinations,
                                               std::size_t count) {
  switch (reduction.op) {
    case ReduceOp::sum:
      return reduce_as<width, T, ReduceOp::sum>(1, sources, destinations, count);
    case ReduceOp::average:
      return reduce_as<width, T, ReduceOp::average>(reduction.ranks, sources, destinations, count);
    case ReduceOp::min:
      return reduce_as<width, T, ReduceOp::min>(1, sources, destinations, count);
    case ReduceOp::max:
      return reduce_as<width, T, ReduceOp::max>(1, sources, destinations, count);
  }
}

template <std::size_t width>
[[gnu::always_inline]] inline void reduce_any(const Reduction& reduction,
                                              std::span<const std::byte* const> sources,
                                              std::span<std::byte* const> destinations,
                                              std::size_t count) {
  switch (reduction.type) {
    case DType::f32:
      return reduce_type<width, float>(reduction, sources, destinations, count);
    case DType::f64:
      return reduce_type<width, double>(reduction, sources, destinations, count);
    case DType::f16:
      return reduce_type<width, Float16>(reduction, sources, destinations, count);
    case DType::bf16:
      return reduce_type<width, BFloat16>(reduction, sources, destinations, count);
    case DType::i64:
      return reduce_type<width, std::int64_t>(reduction, sources, destinations, count);
    case DType::u8:
      return reduce_type<width, std::uint8_t>(reduction, sources, destinations, count);
  }
}

}  // namespace dllaunch
