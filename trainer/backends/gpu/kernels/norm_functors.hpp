// Batch normalisation with fused addition and ReLU, and sums per channel.
//
// Sums take two kernels: one index per (chunk of pixels, channel) sums its chunk in float, then one
// block per channel sums the chunks in double. Adjacent indexes read adjacent channels. Every run
// gives the same bits, and so does the host.
#pragma once

#include <cmath>

#include "trainer/backends/gpu/kernels/packs.hpp"

namespace dllaunch::gpu {

/// The pixels of all rows, cut into equal chunks; the last may be shorter.
struct Chunks {
  std::int64_t pixels = 0;
  Divisor channels = 1;
  std::int64_t count = 1;
  std::int64_t each = 0;  // pixels

  constexpr std::int64_t first(std::int64_t chunk) const {
    const std::int64_t begin = chunk * each;
    return begin < pixels ? begin : pixels;
  }
};

/// Returns enough chunks to fill a GPU, but few enough that the second kernel is cheap.
constexpr Chunks chunks_of(std::int64_t pixels, std::int64_t channels) {
  constexpr std::int64_t indexes = std::int64_t{1} << 19;  // threads: an eighth of it in packs
  std::int64_t count = pixels / 64;
  if (count > indexes / channels) count = indexes / channels;
  if (count < 1) count = 1;
  return {pixels, channels, count, (pixels + count - 1) / count};
}

/// means and squares [chunks, channels]: each chunk's mean and sum of squared deviations from it.
template <typename T>
struct ChunkMoments {
  static constexpr int pack = pack_of<T>;
  const T* x;
  Chunks chunks;
  float* means;
  float* squares;
  bool in_packs() const { return chunks.channels % pack == 0 && aligned<pack>(x, means, squares); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t c = i % chunks.channels;
    const std::int64_t chunk = i / chunks.channels;
    const std::int64_t begin = chunks.first(chunk);
    const std::int64_t end = chunks.first(chunk + 1);
    // Subtract the first value: a large common offset would cost precision.
    Floats<N> shift{};
    if (begin < end) shift = read<N>(x, begin * chunks.channels + c);
    Floats<N> sum{};
    Floats<N> square{};
    for (std::int64_t p = begin; p < end; ++p) {
      const auto values = read<N>(x, p * chunks.channels + c);
      for (int k = 0; k < N; ++k) {
        const float value = values.of[k] - shift.of[k];
        sum.of[k] += value;
        square.of[k] += value * value;
      }
    }
    const float n = begin < end ? static_cast<float>(end - begin) : 1;
    for (int k = 0; k < N; ++k) {
      const float mean = sum.of[k] / n;
      shift.of[k] += mean;
      square.of[k] -= sum.of[k] * mean;
    }
    write(means, i, shift);
    write(squares, i, square);
  }
};

/// Moments of `n` values.
template <typename Real>
struct Moments {
  Real n;
  Real mean;
  Real square;  // sum of squared deviations from the mean
};

/// One block per channel. moments [2, channels]: mean, then sum of squared deviations from it.
template <typename Real>
struct JoinMoments {
  using Part = Moments<Real>;
  const float* means;
  const float* squares;
  Chunks chunks;
  Real* moments;
  constexpr Part part(std::int64_t c, std::int64_t lane, std::int64_t lanes) const {
    Part all{};
    for (std::int64_t chunk = lane; chunk < chunks.count; chunk += lanes) {
      const std::int64_t i = chunk * chunks.channels + c;
      const float own = squares[i];
      join(all, {static_cast<Real>(chunks.first(chunk + 1) - chunks.first(chunk)), means[i],
                 own < 0 ? 0 : own});
    }
    return all;
  }
  /// Chan, Golub and LeVeque 1979.
  static constexpr void join(Part& to, const Part& from) {
    if (!(from.n > 0)) return;
    const Real n = to.n + from.n;
    const Real away = from.mean - to.mean;
    const Real share = from.n / n;
    to.mean += away * share;
    to.square += from.square + away * away * (to.n * share);
    to.n = n;
  }
  constexpr void finish(std::int64_t c, const Part& all) const {
    moments[c] = all.mean;
    moments[chunks.channels + c] = all.square;
  }
};

/// Turns moments of `count` values (over all ranks) into mean and inv_std, and updates the running
/// statistics.
template <typename Real>
struct TakeMoments {
  const Real* moments;
  std::int64_t channels;
  Real count;
  Real eps;
  Real momentum;
  float* mean;
  float* inv_std;
  Real* running_mean;  // values are rounded to float
  Real* running_var;
  constexpr void operator()(std::int64_t c) const {
    const Real middle = moments[c];
    const Real squares = moments[channels + c];
    mean[c] = static_cast<float>(middle);
    inv_std[c] = static_cast<float>(1 / std::sqrt(squares / count + eps));
    const Real unbiased = count > 1 ? squares / (count - 1) : squares;
    running_mean[c] = static_cast<float>(running_mean[c] + momentum * (middle - running_mean[c]));
    running_var[c] = static_cast<float>(running_var[c] + momentum * (unbiased - running_var[c]));
  }
};

template <typename Real>
struct TakeRunning {
  const Real* running_mean;
  const Real* running_var;
  Real eps;
  float* mean;
  float* inv_std;
  constexpr void operator()(std::int64_t c) const {
    mean[c] = static_cast<float>(running_mean[c]);
    inv_std[c] = static_cast<float>(1 / std::sqrt(running_var[c] + eps));
  }
};

struct NormChannel {
  const float* mean;
  const float* inv_std;
  const float* weight;
  const float* bias;

  template <int N>
  bool in_packs() const {
    return aligned<N>(mean, inv_std, weight, bias);
  }
  /// Normalises values of channels c .. c + N - 1.
  template <int N>
  constexpr void normalise(Floats<N>& x, std::int64_t c) const {
    const auto middle = read<N>(mean, c);
    const auto scale = read<N>(inv_std, c);
    for (int k = 0; k < N; ++k) x.of[k] = (x.of[k] - middle.of[k]) * scale.of[k];
  }
};

/// y = (x - mean) inv_std weight + bias + other, then optionally a ReLU.
template <typename T>
struct NormForward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  const T* other;  // nullptr: none
  T* y;
  NormChannel of;
  Divisor channels;
  bool relu;
  bool in_packs() const {
    return channels % pack == 0 && aligned<pack>(x, other, y) && of.in_packs<pack>();
  }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t c = i % channels;
    auto values = read<N>(x, i);
    of.normalise(values, c);
    const auto weight = read<N>(of.weight, c);
    const auto bias = read<N>(of.bias, c);
    for (int k = 0; k < N; ++k) values.of[k] = values.of[k] * weight.of[k] + bias.of[k];
    if (other != nullptr) {
      const auto more = read<N>(other, i);
      values += more;
    }
    for (float& value : values.of) value = relu && value < 0 ? 0 : value;
    write(y, i, values);
  }
};

/// dy after the ReLU's backward pass: zero where y <= 0.
template <typename T>
struct MaskedGrad {
  const T* dy;
  const T* y;  // nullptr: no ReLU
  template <int N>
  constexpr Floats<N> at(std::int64_t i) const {
    auto grads = read<N>(dy, i);
    if (y == nullptr) return grads;
    const auto results = read<N>(y, i);
    for (int k = 0; k < N; ++k) grads.of[k] = results.of[k] <= 0 ? 0 : grads.of[k];
    return grads;
  }
};

/// sums [2, chunks, channels]: of dy, then of dy z, where z is the normalised x.
template <typename T>
struct ChunkGradSums {
  static constexpr int pack = pack_of<T>;
  MaskedGrad<T> masked_dy;
  const T* x;  // nullptr: sums of dy only
  NormChannel of;
  Chunks chunks;
  float* sums;
  bool in_packs() const {
    return chunks.channels % pack == 0 && aligned<pack>(masked_dy.dy, masked_dy.y, x, sums) &&
           of.in_packs<pack>();
  }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t c = i % chunks.channels;
    const std::int64_t chunk = i / chunks.channels;
    const std::int64_t end = chunks.first(chunk + 1);
    Floats<N> sum{};
    Floats<N> product{};
    for (std::int64_t p = chunks.first(chunk); p < end; ++p) {
      const std::int64_t place = p * chunks.channels + c;
      const auto dy = masked_dy.template at<N>(place);
      sum += dy;
      if (x == nullptr) continue;
      auto z = read<N>(x, place);
      of.normalise(z, c);
      for (int k = 0; k < N; ++k) product.of[k] += dy.of[k] * z.of[k];
    }
    write(sums, i, sum);
    if (x != nullptr) write(sums, chunks.count * chunks.channels + i, product);
  }
};

/// One block for each of [2, channels], or for each of the channels if only dy is summed: the sum
/// over chunks, the gradient of the bias or of the weight.
template <typename Real>
struct JoinSums {
  using Part = Real;
  const float* sums;
  Chunks chunks;
  Real* joined;    // as many as blocks
  float* dbias;    // nullptr: not needed
  float* dweight;  // nullptr: not needed
  bool add;
  constexpr Part part(std::int64_t i, std::int64_t lane, std::int64_t lanes) const {
    const std::int64_t row = i / chunks.channels * chunks.count;
    const std::int64_t c = i % chunks.channels;
    Real sum = 0;
    for (std::int64_t chunk = lane; chunk < chunks.count; chunk += lanes) {
      sum += sums[(row + chunk) * chunks.channels + c];
    }
    return sum;
  }
  static constexpr void join(Part& to, const Part& from) { to += from; }
  constexpr void finish(std::int64_t i, const Part& sum) const {
    joined[i] = sum;
    float* const gradients = i < chunks.channels ? dbias : dweight;
    if (gradients != nullptr) put(gradients[i % chunks.channels], static_cast<float>(sum), add);
  }
};

/// One index per value of `sums`: their share in each of `count` values.
template <typename Real>
struct TakeMeans {
  const Real* sums;
  Real count;
  float* means;
  constexpr void operator()(std::int64_t i) const {
    means[i] = static_cast<float>(sums[i] / count);
  }
};

/// dx = weight inv_std (dy - mean of dy - z mean of dy z); dy is also the gradient of `other`. Zero
/// from element `present` on.
template <typename T>
struct NormBackward {
  static constexpr int pack = pack_of<T>;
  MaskedGrad<T> masked_dy;
  const T* x;
  NormChannel of;
  const float* means;  // [2, channels], over all ranks: of dy, of dy z
  Divisor channels;
  std::int64_t present;
  T* dx;  // nullptr: not needed
  T* other;
  bool add;
  bool add_other;
  bool in_packs() const {
    return channels % pack == 0 && aligned<pack>(masked_dy.dy, masked_dy.y, x, means, dx, other) &&
           of.in_packs<pack>();
  }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const bool there = i < present;  // all N or none: they are of one pixel
    Floats<N> dy{};
    if (there) dy = masked_dy.template at<N>(i);
    if (other != nullptr) write(other, i, dy, add_other);
    if (dx == nullptr) return;
    if (there) centre(dy, i);
    write(dx, i, dy, add);
  }

 private:
  /// Turns dy into dx.
  template <int N>
  constexpr void centre(Floats<N>& dy, std::int64_t i) const {
    const std::int64_t c = i % channels;
    auto z = read<N>(x, i);
    of.normalise(z, c);
    const auto weight = read<N>(of.weight, c);
    const auto scale = read<N>(of.inv_std, c);
    const auto middle = read<N>(means, c);
    const auto tilt = read<N>(means, channels + c);
    for (int k = 0; k < N; ++k) {
      dy.of[k] = weight.of[k] * scale.of[k] * (dy.of[k] - middle.of[k] - z.of[k] * tilt.of[k]);
    }
  }
};

}  // namespace dllaunch::gpu
