// Layers that act on each token of a sequence, [rows, width] with a row for each token. No sum uses
// atomics: every run gives the same bits.
#pragma once

#include <cmath>
#include <limits>

#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/layer_kernels.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch::gpu {

template <typename T>
struct GeluForward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  T* y;
  Gelu op;
  bool in_packs() const { return aligned<pack>(x, y); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    auto values = read<N>(x, i);
    for (float& value : values.of) value = op.value(value);
    write(y, i, values);
  }
};

template <typename T>
struct GeluBackward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  const T* dy;
  T* dx;
  Gelu op;
  bool add;
  bool in_packs() const { return aligned<pack>(x, dy, dx); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const auto values = read<N>(x, i);
    auto grads = read<N>(dy, i);
    for (int k = 0; k < N; ++k) grads.of[k] *= op.slope(values.of[k]);
    write(dx, i, grads, add);
  }
};

template <typename T>
struct LayerKernels<Gelu, T> {
  static GeluForward<T> forward(const Gelu& op, const View<T>& v) { return {v.x, v.y, op}; }
  static GeluBackward<T> backward(const Gelu& op, const View<T>& v) {
    return {v.x, v.dy, v.dx, op, v.add};
  }
};

/// Pixels are tokens already: channels are last.
template <typename T>
struct LayerKernels<ToSequence, T> {
  static Convert<T, T> forward(const ToSequence&, const View<T>& v) { return {v.x, v.y, false}; }
  static Convert<T, T> backward(const ToSequence&, const View<T>& v) { return {v.dy, v.dx, v.add}; }
};

/// Samples of `to` are those of `from`, moved by `moved` elements. Where a sample of `from` has
/// none, they are those of `instead`; nullptr: zeros. One index per element of `to`.
template <typename T>
struct MoveElements {
  static constexpr int pack = pack_of<T, float>;
  const T* from;
  T* to;
  Divisor to_each;  // elements of a sample
  std::int64_t from_each;
  std::int64_t moved;
  const float* instead;
  bool add;
  bool in_packs() const {
    return to_each % pack == 0 && from_each % pack == 0 && moved % pack == 0 &&
           aligned<pack>(from, to, instead);
  }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t place = i % to_each;
    const std::int64_t source = place - moved;
    Floats<N> values{};
    if (source >= 0 && source < from_each) {
      values = read<N>(from, i / to_each * from_each + source);
    } else if (instead != nullptr) {
      values = read<N>(instead, place);
    }
    write(to, i, values, add);
  }
};

template <typename T>
struct LayerKernels<FirstToken, T> {
  static MoveElements<T> forward(const FirstToken&, const View<T>& v) {
    return {v.x, v.y, v.out.channels, v.in.elements() / v.out.rows, 0, nullptr, false};
  }
  static MoveElements<T> backward(const FirstToken&, const View<T>& v) {
    return {v.dy, v.dx, v.in.elements() / v.out.rows, v.out.channels, 0, nullptr, v.add};
  }
};

/// The gradient of what is added to every sample, or put before it: sums of dy over samples of
/// `each` elements. Elements from `used` on, which no sample has, are zero. One index per element
/// of the gradient.
template <typename T>
struct SumOverSamples {
  const T* dy;
  float* gradient;
  std::int64_t samples;
  std::int64_t each;
  std::int64_t used;
  bool add;
  constexpr void operator()(std::int64_t i) const {
    float sum = 0;
    for (std::int64_t s = 0; s < samples && i < used; ++s) sum += get(dy[s * each + i]);
    put(gradient[i], sum, add);
  }
};

/// One index per element of y. Tokens are floats: 16 bits do not hold every id.
template <typename T>
struct EmbedTokens {
  static constexpr int pack = pack_of<T, float>;
  const float* tokens;  // [rows]
  const float* weight;  // [vocabulary, width]
  T* y;
  std::int64_t vocabulary;
  Divisor width;
  bool in_packs() const { return width % pack == 0 && aligned<pack>(weight, y); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t row = row_of_token(tokens[i / width], vocabulary);
    Floats<N> values{};
    for (float& value : values.of) value = std::numeric_limits<float>::quiet_NaN();
    if (row >= 0) values = read<N>(weight, row * width + i % width);
    write(y, i, values);
  }
};

/// The occurrences of an id, as a list.
struct Occurrence {
  std::int32_t next;   // the row where the same id is next; 0: nowhere
  std::int32_t first;  // 1: no earlier row has it
};

/// One block per row. Each compares itself with all, which is little beside the products of a
/// network: 4,096 rows are 17 million comparisons.
struct FindOccurrences {
  struct Part {
    std::int64_t next;
    bool earlier;
  };
  const float* tokens;
  std::int64_t rows;
  std::int64_t vocabulary;
  Occurrence* occurrences;

  constexpr Part part(std::int64_t n, std::int64_t lane, std::int64_t lanes) const {
    const std::int64_t mine = row_of_token(tokens[n], vocabulary);
    Part found{0, mine < 0};
    for (std::int64_t other = lane; other < rows && mine >= 0; other += lanes) {
      if (other == n || row_of_token(tokens[other], vocabulary) != mine) continue;
      found.earlier = found.earlier || other < n;
      if (other > n && found.next == 0) found.next = other;
    }
    return found;
  }
  static constexpr void join(Part& to, const Part& from) {
    to.earlier = to.earlier || from.earlier;
    if (from.next != 0 && (to.next == 0 || from.next < to.next)) to.next = from.next;
  }
  constexpr void finish(std::int64_t n, const Part& found) const {
    occurrences[n] = {static_cast<std::int32_t>(found.next), found.earlier ? 0 : 1};
  }
};

/// Adds the sum of dy over all occurrences of an id, in their order, to the id's row. One index per
/// element of dy; those of first occurrences work.
template <typename T>
struct EmbeddingGrads {
  static constexpr int pack = pack_of<T, float>;
  const T* dy;
  const float* tokens;
  const Occurrence* occurrences;
  float* gradient;
  std::int64_t vocabulary;
  Divisor width;
  bool in_packs() const { return width % pack == 0 && aligned<pack>(dy, gradient); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t n = i / width;
    if (occurrences[n].first == 0) return;
    const std::int64_t w = i % width;
    auto sum = read<N>(dy, i);
    for (std::int64_t at = occurrences[n].next; at != 0; at = occurrences[at].next) {
      sum += read<N>(dy, at * width + w);
    }
    write(gradient, row_of_token(tokens[n], vocabulary) * width + w, sum, true);
  }
};

/// One block per row: its mean and 1 / sqrt(var + eps).
template <typename T>
struct RowMoments {
  struct Part {
    float sum;
    float square;
  };
  const T* x;
  std::int64_t width;
  float eps;
  float* mean;
  float* inv_std;

  constexpr Part part(std::int64_t n, std::int64_t lane, std::int64_t lanes) const {
    // Subtract the first value: a large common offset would cost precision.
    const float shift = get(x[n * width]);
    Part all{};
    for (std::int64_t w = lane; w < width; w += lanes) {
      const float value = get(x[n * width + w]) - shift;
      all.sum += value;
      all.square += value * value;
    }
    return all;
  }
  static constexpr void join(Part& to, const Part& from) {
    to.sum += from.sum;
    to.square += from.square;
  }
  constexpr void finish(std::int64_t n, const Part& all) const {
    const float middle = all.sum / static_cast<float>(width);
    const float variance = all.square / static_cast<float>(width) - middle * middle;
    mean[n] = get(x[n * width]) + middle;
    inv_std[n] = 1 / std::sqrt((variance < 0 ? 0 : variance) + eps);
  }
};

/// Normalises the elements of rows.
struct RowNorm {
  const float* mean;  // [rows]
  const float* inv_std;
  Divisor width;

  template <int N>
  constexpr void normalise(Floats<N>& x, std::int64_t n) const {
    for (float& value : x.of) value = (value - mean[n]) * inv_std[n];
  }
};

template <typename T>
struct RowNormForward {
  static constexpr int pack = pack_of<T, float>;
  const T* x;
  T* y;
  RowNorm of;
  const float* weight;  // [width]
  const float* bias;
  bool in_packs() const { return of.width % pack == 0 && aligned<pack>(x, y, weight, bias); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t w = i % of.width;
    auto values = read<N>(x, i);
    of.normalise(values, i / of.width);
    const auto scale = read<N>(weight, w);
    const auto more = read<N>(bias, w);
    for (int k = 0; k < N; ++k) values.of[k] = values.of[k] * scale.of[k] + more.of[k];
    write(y, i, values);
  }
};

/// One block per row: with z the normalised x and g = dy weight, the means of g and of g z.
template <typename T>
struct RowGradMeans {
  struct Part {
    float sum;
    float product;
  };
  const T* x;
  const T* dy;
  RowNorm of;
  const float* weight;
  float* means;  // [rows, 2]

  constexpr Part part(std::int64_t n, std::int64_t lane, std::int64_t lanes) const {
    Part all{};
    for (std::int64_t w = lane; w < of.width; w += lanes) {
      const float grad = get(dy[n * of.width + w]) * weight[w];
      all.sum += grad;
      all.product += grad * (get(x[n * of.width + w]) - of.mean[n]) * of.inv_std[n];
    }
    return all;
  }
  static constexpr void join(Part& to, const Part& from) {
    to.sum += from.sum;
    to.product += from.product;
  }
  constexpr void finish(std::int64_t n, const Part& all) const {
    means[2 * n] = all.sum / static_cast<float>(of.width);
    means[2 * n + 1] = all.product / static_cast<float>(of.width);
  }
};

/// dx = inv_std (g - mean of g - z mean of g z).
template <typename T>
struct RowNormBackward {
  static constexpr int pack = pack_of<T, float>;
  const T* x;
  const T* dy;
  RowNorm of;
  const float* weight;
  const float* means;
  T* dx;
  bool add;
  bool in_packs() const { return of.width % pack == 0 && aligned<pack>(x, dy, weight, dx); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t n = i / of.width;
    auto z = read<N>(x, i);
    of.normalise(z, n);
    auto grads = read<N>(dy, i);
    const auto scale = read<N>(weight, i % of.width);
    for (int k = 0; k < N; ++k) {
      const float grad = grads.of[k] * scale.of[k];
      grads.of[k] = of.inv_std[n] * (grad - means[2 * n] - z.of[k] * means[2 * n + 1]);
    }
    write(dx, i, grads, add);
  }
};

/// sums [2, chunks, width]: of dy, then of dy z. JoinSums follows.
template <typename T>
struct ChunkRowGradSums {
  static constexpr int pack = pack_of<T, float>;
  const T* x;
  const T* dy;
  RowNorm of;
  Chunks chunks;  // of rows
  float* sums;
  bool in_packs() const { return of.width % pack == 0 && aligned<pack>(x, dy, sums); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t w = i % of.width;
    const std::int64_t chunk = i / of.width;
    const std::int64_t end = chunks.first(chunk + 1);
    Floats<N> sum{};
    Floats<N> product{};
    for (std::int64_t n = chunks.first(chunk); n < end; ++n) {
      const auto grads = read<N>(dy, n * of.width + w);
      auto z = read<N>(x, n * of.width + w);
      of.normalise(z, n);
      sum += grads;
      for (int k = 0; k < N; ++k) product.of[k] += grads.of[k] * z.of[k];
    }
    write(sums, i, sum);
    write(sums, chunks.count * of.width + i, product);
  }
};

}  // namespace dllaunch::gpu
