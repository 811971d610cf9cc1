// Attention between its matrix products: heads apart from each other, and softmax.
#pragma once

#include <cmath>
#include <limits>

#include "trainer/backends/gpu/kernels/packs.hpp"

namespace dllaunch::gpu {

/// A sequence's numbers, [samples, tokens, parts, heads, size], and those of heads, [parts,
/// samples, heads, tokens, size]. Parts are query, key and value, or the output alone.
struct HeadShape {
  Divisor samples;
  Divisor tokens;
  Divisor parts;
  Divisor heads;
  Divisor size;

  constexpr std::int64_t elements() const { return samples * tokens * parts * heads * size; }
  /// Returns where in a sequence element i of the heads is.
  constexpr std::int64_t in_sequence(std::int64_t i) const {
    const std::int64_t d = i % size;
    const std::int64_t token = i / size;
    const std::int64_t head = token / tokens;
    const std::int64_t sample = head / heads;
    const std::int64_t row = sample % samples * tokens + token % tokens;
    return ((row * parts + sample / samples) * heads + head % heads) * size + d;
  }
  /// The inverse.
  constexpr std::int64_t in_heads(std::int64_t i) const {
    const std::int64_t d = i % size;
    const std::int64_t head = i / size;
    const std::int64_t part = head / heads;
    const std::int64_t row = part / parts;
    const std::int64_t sample = part % parts * samples + row / tokens;
    return ((sample * heads + head % heads) * tokens + row % tokens) * size + d;
  }
};

/// One index per element of the heads.
template <typename T>
struct SplitHeads {
  static constexpr int pack = pack_of<T>;
  const T* sequence;
  T* heads;
  HeadShape shape;
  bool in_packs() const { return shape.size % pack == 0 && aligned<pack>(sequence, heads); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    write(heads, i, read<N>(sequence, shape.in_sequence(i)));
  }
};

/// One index per element of the sequence.
template <typename T>
struct JoinHeads {
  static constexpr int pack = pack_of<T>;
  const T* heads;
  T* sequence;
  HeadShape shape;
  bool add;
  bool in_packs() const { return shape.size % pack == 0 && aligned<pack>(sequence, heads); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    write(sequence, i, read<N>(heads, shape.in_heads(i)), add);
  }
};

/// Products of queries and keys: rows [samples, heads, tokens] of `tokens` columns. A causal row
/// has as many as its token's place.
struct Scores {
  const float* products;
  Divisor tokens;
  float scale;  // of the products before softmax
  bool causal;

  constexpr std::int64_t columns(std::int64_t row) const {
    return causal ? row % tokens + 1 : std::int64_t{tokens};
  }
};

/// The largest scaled score of a row, and the sum of exp(score - largest).
struct SoftmaxRow {
  float largest;
  float sum;
};

/// One block per row.
struct SoftmaxRows {
  using Part = SoftmaxRow;
  Scores of;
  SoftmaxRow* rows;

  constexpr Part part(std::int64_t row, std::int64_t lane, std::int64_t lanes) const {
    Part all{-std::numeric_limits<float>::infinity(), 0};
    const float* const products = of.products + row * of.tokens;
    for (std::int64_t s = lane; s < of.columns(row); s += lanes) {
      const float score = of.scale * products[s];
      if (score > all.largest) {
        all.sum = all.sum * std::exp(all.largest - score) + 1;
        all.largest = score;
      } else {
        all.sum += std::exp(score - all.largest);
      }
    }
    return all;
  }
  static constexpr void join(Part& to, const Part& from) {
    if (from.sum == 0) return;  // a lane without scores
    if (from.largest > to.largest) {
      to.sum = to.sum * std::exp(to.largest - from.largest) + from.sum;
      to.largest = from.largest;
    } else {
      to.sum += from.sum * std::exp(from.largest - to.largest);
    }
  }
  constexpr void finish(std::int64_t row, const Part& all) const { rows[row] = all; }
};

/// One index per score.
template <typename T>
struct SoftmaxWeights {
  static constexpr int pack = pack_of<T, float>;
  Scores of;
  const SoftmaxRow* rows;
  T* weights;
  bool in_packs() const { return of.tokens % pack == 0 && aligned<pack>(of.products, weights); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t row = i / of.tokens;
    const std::int64_t left = of.columns(row) - i % of.tokens;
    const SoftmaxRow all = rows[row];
    auto values = read<N>(of.products, i);
    for (int k = 0; k < N; ++k) {
      const float share = std::exp(of.scale * values.of[k] - all.largest) / all.sum;
      values.of[k] = k < left ? share : 0;
    }
    write(weights, i, values);
  }
};

/// One block per row: the sum of weight times the weight's gradient, which `of` has as products.
template <typename T>
struct SoftmaxGradSums {
  using Part = float;
  Scores of;
  const T* weights;
  float* sums;

  constexpr Part part(std::int64_t row, std::int64_t lane, std::int64_t lanes) const {
    float sum = 0;
    for (std::int64_t s = lane; s < of.columns(row); s += lanes) {
      const std::int64_t i = row * of.tokens + s;
      sum += get(weights[i]) * of.products[i];
    }
    return sum;
  }
  static constexpr void join(Part& to, const Part& from) { to += from; }
  constexpr void finish(std::int64_t row, const Part& sum) const { sums[row] = sum; }
};

/// Replaces weights by the gradients of the products: scale weight (gradient - sum of the row).
template <typename T>
struct SoftmaxGrads {
  static constexpr int pack = pack_of<T, float>;
  Scores of;
  const float* sums;
  T* weights;
  bool in_packs() const { return of.tokens % pack == 0 && aligned<pack>(of.products, weights); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t row = i / of.tokens;
    const std::int64_t left = of.columns(row) - i % of.tokens;
    auto values = read<N>(weights, i);
    const auto grads = read<N>(of.products, i);
    for (int k = 0; k < N; ++k) {
      const float grad = of.scale * values.of[k] * (grads.of[k] - sums[row]);
      values.of[k] = k < left ? grad : 0;
    }
    write(weights, i, values);
  }
};

}  // namespace dllaunch::gpu
