// Elementwise operations.
#pragma once

#include <cstdint>

#include "trainer/backends/gpu/kernels/layer_kernels.hpp"
#include "trainer/backends/gpu/kernels/packs.hpp"
#include "trainer/graph/dropout.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch::gpu {

template <typename Kind, typename T>
struct ActivationForward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  T* y;
  bool in_packs() const { return aligned<pack>(x, y); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    auto values = read<N>(x, i);
    for (float& value : values.of) value = Kind::value(value);
    write(y, i, values);
  }
};

template <typename Kind, typename T>
struct ActivationBackward {
  static constexpr int pack = pack_of<T>;
  const T* y;
  const T* dy;
  T* dx;
  bool add;
  bool in_packs() const { return aligned<pack>(y, dy, dx); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const auto results = read<N>(y, i);
    auto grads = read<N>(dy, i);
    for (int k = 0; k < N; ++k) grads.of[k] = Kind::gradient(results.of[k], grads.of[k]);
    write(dx, i, grads, add);
  }
};

template <typename Kind, typename T>
requires(Kind::traits.activation) struct LayerKernels<Kind, T> {
  static ActivationForward<Kind, T> forward(const Kind&, const View<T>& v) { return {v.x, v.y}; }
  static ActivationBackward<Kind, T> backward(const Kind&, const View<T>& v) {
    return {v.y, v.dy, v.dx, v.add};
  }
};

template <typename T>
struct SumOfTwo {
  static constexpr int pack = pack_of<T>;
  const T* a;
  const T* b;
  T* y;
  bool in_packs() const { return aligned<pack>(a, b, y); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    auto sums = read<N>(a, i);
    const auto more = read<N>(b, i);
    sums += more;
    write(y, i, sums);
  }
};

template <typename T>
struct AddBias {
  static constexpr int pack = pack_of<T>;
  T* y;
  const float* bias;
  Divisor channels;
  bool in_packs() const { return channels % pack == 0 && aligned<pack>(y, bias); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    write(y, i, read<N>(bias, i % channels), true);
  }
};

/// Converts between storage types, or copies.
template <typename From, typename To>
struct Convert {
  static constexpr int pack = pack_of<From, To>;
  const From* from;
  To* to;
  bool add;
  bool in_packs() const { return aligned<pack>(from, to); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    write(to, i, read<N>(from, i), add);
  }
};

/// Dropout: forward on activations, backward on gradients.
template <typename T>
struct Drop {
  const T* from;
  T* to;
  Grid shape;
  const DropoutMask* mask;  // in memory: it differs from step to step
  float scale;
  bool add;
  constexpr void operator()(std::int64_t i) const {
    const auto element = static_cast<std::uint64_t>(plain_index(shape, i));
    put(to[i], mask->keeps(element) ? get(from[i]) * scale : 0, add);
  }
};

/// Channels first to channels last; `shape` has the order of `to`.
template <typename From, typename To>
struct ToChannelsLast {
  const From* from;
  To* to;
  Grid shape;
  bool add;
  constexpr void operator()(std::int64_t i) const {
    put(to[i], get(from[plain_index(shape, i)]), add);
  }
};

/// Channels last to channels first; `shape` has the order of `from`.
template <typename From, typename To>
struct ToChannelsFirst {
  const From* from;
  To* to;
  Grid shape;
  constexpr void operator()(std::int64_t i) const { set(to[plain_index(shape, i)], get(from[i])); }
};

template <typename T>
struct LayerKernels<Flatten, T> {
  static ToChannelsFirst<T, T> forward(const Flatten&, const View<T>& v) {
    return {v.x, v.y, v.in};
  }
  static ToChannelsLast<T, T> backward(const Flatten&, const View<T>& v) {
    return {v.dy, v.dx, v.in, v.add};
  }
};

/// Sets `found` to 1 if an element is not finite.
template <typename T>
struct FindNonFinite {
  static constexpr int pack = pack_of<T>;
  const T* x;
  int* found;
  bool in_packs() const { return aligned<pack>(x); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const auto values = read<N>(x, i);
    for (const float value : values.of) {
      if (!(value - value == 0)) *found = 1;
    }
  }
};

}  // namespace dllaunch::gpu
