// Elementwise operations.
#pragma once

#include <cstdint>

#include "trainer/backends/gpu/kernels/layer_kernels.hpp"
#include "trainer/graph/dropout.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch::gpu {

template <typename Kind, typename T>
struct ActivationForward {
  const T* x;
  T* y;
  constexpr void operator()(std::int64_t i) const { set(y[i], Kind::value(get(x[i]))); }
};

template <typename Kind, typename T>
struct ActivationBackward {
  const T* y;
  const T* dy;
  T* dx;
  bool add;
  constexpr void operator()(std::int64_t i) const {
    put(dx[i], Kind::gradient(get(y[i]), get(dy[i])), add);
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
  const T* a;
  const T* b;
  T* y;
  constexpr void operator()(std::int64_t i) const { set(y[i], get(a[i]) + get(b[i])); }
};

template <typename T>
struct AddBias {
  T* y;
  const float* bias;
  std::int64_t channels;
  constexpr void operator()(std::int64_t i) const { put(y[i], bias[i % channels], true); }
};

/// Converts between storage types, or copies.
template <typename From, typename To>
struct Convert {
  const From* from;
  To* to;
  bool add;
  constexpr void operator()(std::int64_t i) const { put(to[i], get(from[i]), add); }
};

/// Dropout: forward on activations, backward on gradients.
template <typename T>
struct Drop {
  const T* from;
  T* to;
  Volume shape;
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
  Volume shape;
  bool add;
  constexpr void operator()(std::int64_t i) const {
    put(to[i], get(from[plain_index(shape, i)]), add);
  }
};

/// Channels last to channels first; `shape` has the order of `from`.
template <typename T>
struct ToChannelsFirst {
  const T* from;
  T* to;
  Volume shape;
  constexpr void operator()(std::int64_t i) const { set(to[plain_index(shape, i)], get(from[i])); }
};

template <typename T>
struct LayerKernels<Flatten, T> {
  static ToChannelsFirst<T> forward(const Flatten&, const View<T>& v) { return {v.x, v.y, v.in}; }
  static ToChannelsLast<T, T> backward(const Flatten&, const View<T>& v) {
    return {v.dy, v.dx, v.in, v.add};
  }
};

/// Sets `found` to 1 if an element is not finite.
template <typename T>
struct FindNonFinite {
  const T* x;
  int* found;
  constexpr void operator()(std::int64_t i) const {
    const float value = get(x[i]);
    if (!(value - value == 0)) *found = 1;
  }
};

}  // namespace dllaunch::gpu
