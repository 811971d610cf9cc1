// Implements row_kernels.hpp; compiled for several instruction sets by row_x86.cpp and
// row_portable.cpp. `lanes`: floats of a vector register.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/numerics/vectors.hpp"
#include "trainer/backends/onednn/sequences/row_kernels.hpp"

namespace dllaunch::onednn {

/// e^x for x <= 0; below -87, where floats become denormal, 0. Relative error below 2e-7.
/// x = n ln 2 + r with |r| <= ln 2 / 2: 2^n goes into the exponent, e^r is its Taylor series.
template <std::size_t lanes>
[[gnu::always_inline]] inline void exp_of(Vector<float, lanes>& x) {
  using Floats = Vector<float, lanes>;
  using Ints = Vector<std::int32_t, lanes>;
  constexpr float rounding = 12582912.F;  // 1.5 * 2^23: the last bits of a sum are its whole part
  const Floats steps = x * 1.44269504F + rounding;
  const Floats n = steps - rounding;
  const Floats r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts
  Floats e = r * (1.F / 720) + (1.F / 120);
  e = e * r + (1.F / 24);
  e = e * r + (1.F / 6);
  e = e * r + 0.5F;
  e = e * r + 1.F;
  e = e * r + 1.F;
  Ints bits;
  __builtin_memcpy(&bits, &steps, sizeof bits);
  bits = (bits << 23) + (127 << 23);
  Floats power;
  __builtin_memcpy(&power, &bits, sizeof power);
  e *= power;
  x = x < -87.F ? Floats{} : e;
}

template <std::size_t lanes>
[[gnu::always_inline]] inline void load_row(const float* from, Vector<float, lanes>& x) {
  __builtin_memcpy(&x, from, sizeof x);
}
template <std::size_t lanes>
[[gnu::always_inline]] inline void store_row(const Vector<float, lanes>& x, float* to) {
  __builtin_memcpy(to, &x, sizeof x);
}
template <std::size_t lanes>
[[gnu::always_inline]] inline void add_to_row(const Vector<float, lanes>& x, float* to) {
  Vector<float, lanes> sum;
  load_row<lanes>(to, sum);
  store_row<lanes>(sum + x, to);
}
template <std::size_t lanes>
[[gnu::always_inline]] inline float sum_of(const Vector<float, lanes>& x) {
  float sum = 0;
  for (std::size_t i = 0; i < lanes; ++i) sum += x[i];
  return sum;
}

/// Calls function(constant lanes, i) for a row's vectors, then for single elements.
template <std::size_t lanes, typename Function>
[[gnu::always_inline]] inline void for_each_vector(std::size_t n, const Function& function) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) function(std::integral_constant<std::size_t, lanes>(), i);
  for (; i < n; ++i) function(std::integral_constant<std::size_t, 1>(), i);
}

/// Sums of a row: a vector, and the elements after the last whole one.
template <std::size_t lanes>
struct RowSum {
  Vector<float, lanes> wide = {};
  float rest = 0;

  [[gnu::always_inline]] void add(const Vector<float, lanes>& x) { wide += x; }
  [[gnu::always_inline]] void add(const Vector<float, 1>& x) requires(lanes > 1) { rest += x[0]; }
  [[gnu::always_inline]] float total() const { return sum_of<lanes>(wide) + rest; }
};

template <std::size_t lanes>
[[gnu::always_inline]] inline float largest_in(const float* x, std::size_t n) {
  Vector<float, lanes> most = Vector<float, lanes>{} - std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Vector<float, lanes> v;
    load_row<lanes>(x + i, v);
    most = v > most ? v : most;
  }
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t l = 0; l < lanes; ++l) largest = most[l] > largest ? most[l] : largest;
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

template <std::size_t lanes>
[[gnu::always_inline]] inline void softmax_row(float* x, std::size_t n, std::size_t padded,
                                               float scale) {
  using V = Vector<float, lanes>;
  const float largest = largest_in<lanes>(x, n);
  for (std::size_t i = n; i < padded; ++i) x[i] = -std::numeric_limits<float>::infinity();
  V sum = {};
  const std::size_t used = (n + lanes - 1) / lanes * lanes;
  for (std::size_t i = 0; i < used; i += lanes) {
    V v;
    load_row<lanes>(x + i, v);
    v = (v - largest) * scale;
    exp_of<lanes>(v);
    sum += v;
    store_row<lanes>(v, x + i);
  }
  const float factor = 1 / sum_of<lanes>(sum);
  for (std::size_t i = 0; i < used; i += lanes) {
    V v;
    load_row<lanes>(x + i, v);
    store_row<lanes>(v * factor, x + i);
  }
  for (std::size_t i = used; i < padded; ++i) x[i] = 0;
}

template <std::size_t lanes>
[[gnu::always_inline]] inline void softmax_backward_row(const float* p, float* dp, std::size_t n,
                                                        float scale) {
  using V = Vector<float, lanes>;
  V sum = {};
  V a;
  V b;
  for (std::size_t i = 0; i < n; i += lanes) {
    load_row<lanes>(p + i, a);
    load_row<lanes>(dp + i, b);
    sum += a * b;
  }
  const float all = sum_of<lanes>(sum);
  for (std::size_t i = 0; i < n; i += lanes) {
    load_row<lanes>(p + i, a);
    load_row<lanes>(dp + i, b);
    store_row<lanes>(a * (b - all) * scale, dp + i);
  }
}

template <std::size_t lanes>
[[gnu::always_inline]] inline LogitSums sum_logits_row(const float* x, std::size_t n) {
  const float largest = largest_in<lanes>(x, n);
  RowSum<lanes> exponentials;
  RowSum<lanes> distances;
  for_each_vector<lanes>(
      n, [&](auto some, std::size_t i) __attribute__((always_inline)) {
        Vector<float, some()> v;
        load_row<some()>(x + i, v);
        v -= largest;
        distances.add(v);
        exp_of<some()>(v);
        exponentials.add(v);
      });
  return {largest, exponentials.total(), distances.total()};
}

template <std::size_t lanes>
[[gnu::always_inline]] inline void logit_gradients_row(const float* x, float* dx, std::size_t n,
                                                       float largest, float factor, float shift) {
  for_each_vector<lanes>(
      n, [&](auto some, std::size_t i) __attribute__((always_inline)) {
        Vector<float, some()> v;
        load_row<some()>(x + i, v);
        v -= largest;
        exp_of<some()>(v);
        store_row<some()>(v * factor - shift, dx + i);
      });
}

template <std::size_t lanes>
[[gnu::always_inline]] inline void layer_norm_row(NormRow& row, float eps) {
  const auto width = static_cast<float>(row.width);
  RowSum<lanes> sum;
  for_each_vector<lanes>(
      row.width, [&](auto some, std::size_t i) __attribute__((always_inline)) {
        Vector<float, some()> v;
        load_row<some()>(row.x + i, v);
        sum.add(v);
      });
  row.mean = sum.total() / width;
  RowSum<lanes> squares;
  for_each_vector<lanes>(
      row.width, [&](auto some, std::size_t i) __attribute__((always_inline)) {
        Vector<float, some()> v;
        load_row<some()>(row.x + i, v);
        v -= row.mean;
        squares.add(v * v);
      });
  row.inv_std = 1 / std::sqrt(squares.total() / width + eps);
  for_each_vector<lanes>(
      row.width, [&](auto some, std::size_t i) __attribute__((always_inline)) {
        Vector<float, some()> v;
        Vector<float, some()> weight;
        Vector<float, some()> bias;
        load_row<some()>(row.x + i, v);
        load_row<some()>(row.weight + i, weight);
        load_row<some()>(row.bias + i, bias);
        store_row<some()>((v - row.mean) * row.inv_std * weight + bias, row.y + i);
      });
}

/// Elements of a row from the i-th on.
template <std::size_t lanes>
struct NormElements {
  Vector<float, lanes> z;   // normalised
  Vector<float, lanes> dy;  // the gradient
  Vector<float, lanes> dz;

  [[gnu::always_inline]] NormElements(const NormRow& row, std::size_t i) {
    load_row<lanes>(row.x + i, z);
    load_row<lanes>(row.dy + i, dy);
    load_row<lanes>(row.weight + i, dz);
    z = (z - row.mean) * row.inv_std;
    dz *= dy;
  }
};

template <std::size_t lanes>
[[gnu::always_inline]] inline void layer_norm_backward_row(const NormRow& row) {
  RowSum<lanes> sum;
  RowSum<lanes> sum_z;
  for_each_vector<lanes>(
      row.width, [&](auto some, std::size_t i) __attribute__((always_inline)) {
        const NormElements<some()> at(row, i);
        add_to_row<some()>(at.dy * at.z, row.dweight + i);
        add_to_row<some()>(at.dy, row.dbias + i);
        sum.add(at.dz);
        sum_z.add(at.dz * at.z);
      });
  if (row.dx == nullptr) return;
  const auto width = static_cast<float>(row.width);
  const float mean = sum.total() / width;
  const float mean_z = sum_z.total() / width;
  for_each_vector<lanes>(
      row.width, [&](auto some, std::size_t i) __attribute__((always_inline)) {
        const NormElements<some()> at(row, i);
        store_row<some()>((at.dz - mean - at.z * mean_z) * row.inv_std, row.dx + i);
      });
}

}  // namespace dllaunch::onednn
