// Several neighbouring elements per thread, in loads and stores of up to 128 bits. With one 16-bit
// element per thread, a GPU has too few bytes in flight to reach its memory's bandwidth.
//
// A functor in packs has
//   pack: neighbouring elements per thread
//   in_packs(): whether its arrays' alignment and sizes allow it; called by launch() on the host
//   at<N>(i): computes elements i .. i + N - 1, for N = pack and N = 1
#pragma once

#include <algorithm>
#include <cstddef>

#include "trainer/backends/gpu/kernels/element.hpp"

namespace dllaunch::gpu {

constexpr std::size_t widest_load = 16;  // bytes

/// Elements of the narrowest type that one load reads.
template <typename... T>
constexpr int pack_of = static_cast<int>(widest_load / std::min({sizeof(T)...}));

template <int N>
struct Floats {
  float of[N];
};
template <int N>
constexpr Floats<N>& operator+=(Floats<N>& to, const Floats<N>& more) {
  for (int k = 0; k < N; ++k) to.of[k] += more.of[k];
  return to;
}
template <int N>
constexpr Floats<N> operator/(Floats<N> values, float by) {
  for (float& value : values.of) value /= by;
  return values;
}

template <int N, typename T>
struct alignas(std::min(widest_load, N * sizeof(T))) Pack {
  T of[N];
};

/// Whether packs of N elements may be read and written; nullptr: no array.
template <int N, typename... T>
bool aligned(const T*... arrays) {
  return ((reinterpret_cast<std::uintptr_t>(arrays) % alignof(Pack<N, T>) == 0) && ...);
}

/// Elements i .. i + N - 1; i is a multiple of N.
template <int N, typename T>
constexpr Floats<N> read(const T* from, std::int64_t i) {
  const auto pack = *reinterpret_cast<const Pack<N, T>*>(from + i);
  Floats<N> values{};
  for (int k = 0; k < N; ++k) values.of[k] = get(pack.of[k]);
  return values;
}

/// to = values, or to += values if `add`.
template <int N, typename T>
constexpr void write(T* to, std::int64_t i, const Floats<N>& values, bool add = false) {
  auto& there = *reinterpret_cast<Pack<N, T>*>(to + i);
  auto pack = Pack<N, T>{};
  if (add) pack = there;
  for (int k = 0; k < N; ++k) put(pack.of[k], values.of[k], add);
  there = pack;
}

/// One index per pack, then one for each of the elements that are left.
template <typename Functor>
struct InPacks {
  Functor functor;
  std::int64_t packs;
  constexpr void operator()(std::int64_t i) const {
    constexpr int n = Functor::pack;
    if (i < packs) {
      functor.template at<n>(i * n);
    } else {
      functor.template at<1>(i + packs * (n - 1));
    }
  }
};

}  // namespace dllaunch::gpu
