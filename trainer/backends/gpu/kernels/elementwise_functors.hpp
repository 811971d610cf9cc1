// Operations that look at one element at a time.
#pragma once

#include <cmath>

#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/graph/dropout.hpp"

namespace dllaunch::gpu {

// A NaN is neither below nor above zero: written so that it passes.
constexpr float relu(float x) {
  return x < 0 ? 0 : x;
}

template <typename T>
struct ReluForward {
  const T* x;
  T* y;
  constexpr void operator()(std::int64_t i) const { set(y[i], relu(get(x[i]))); }
};

template <typename T>
struct ReluBackward {
  const T* y;
  const T* dy;
  T* dx;
  bool add;
  constexpr void operator()(std::int64_t i) const {
    put(dx[i], get(y[i]) <= 0 ? 0 : get(dy[i]), add);
  }
};

template <typename T>
struct TanhForward {
  const T* x;
  T* y;
  constexpr void operator()(std::int64_t i) const { set(y[i], std::tanh(get(x[i]))); }
};

template <typename T>
struct TanhBackward {
  const T* y;
  const T* dy;
  T* dx;
  bool add;
  constexpr void operator()(std::int64_t i) const {
    const float value = get(y[i]);
    put(dx[i], (1 - value * value) * get(dy[i]), add);
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

/// Between types of storage, or within one.
template <typename From, typename To>
struct Convert {
  const From* from;
  To* to;
  bool add;
  constexpr void operator()(std::int64_t i) const { put(to[i], get(from[i]), add); }
};

/// Forward of activations, backward of their gradients.
template <typename T>
struct Drop {
  const T* from;
  T* to;
  Volume shape;
  const DropoutMask* mask;  // in memory, since it is another in every step
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

/// Back; `shape` has the order of `from`.
template <typename T>
struct ToChannelsFirst {
  const T* from;
  T* to;
  Volume shape;
  constexpr void operator()(std::int64_t i) const { set(to[plain_index(shape, i)], get(from[i])); }
};

/// Adds nothing and looks for what is no number: `found` becomes 1.
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
