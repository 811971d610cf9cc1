// Batch normalisation with fused addition and ReLU, and sums per channel.
//
// Sums take two kernels: one index per (chunk of pixels, channel) sums its chunk in float, then one
// index per channel sums the chunks in double, in order. Adjacent indexes read adjacent channels.
// No index depends on another, so the functors also run in a loop, and every run gives the same
// bits.
#pragma once

#include <cmath>

#include "trainer/backends/gpu/kernels/element.hpp"

namespace dllaunch::gpu {

/// The pixels of all rows, cut into equal chunks; the last may be shorter.
struct Chunks {
  std::int64_t pixels = 0;
  std::int64_t channels = 1;
  std::int64_t count = 1;

  constexpr std::int64_t each() const { return (pixels + count - 1) / count; }
  constexpr std::int64_t first(std::int64_t chunk) const {
    const std::int64_t begin = chunk * each();
    return begin < pixels ? begin : pixels;
  }
};

/// Returns enough chunks to fill a GPU, but few enough that the second kernel is cheap.
constexpr Chunks chunks_of(std::int64_t pixels, std::int64_t channels) {
  constexpr std::int64_t indexes = std::int64_t{1} << 17;
  std::int64_t count = pixels / 64;
  if (count > 1024) count = 1024;
  if (count > indexes / channels) count = indexes / channels;
  return {pixels, channels, count < 1 ? 1 : count};
}

/// means and squares [chunks, channels]: each chunk's mean and sum of squared deviations from it.
template <typename T>
struct ChunkMoments {
  const T* x;
  Chunks chunks;
  float* means;
  float* squares;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t c = i % chunks.channels;
    const std::int64_t chunk = i / chunks.channels;
    const std::int64_t begin = chunks.first(chunk);
    const std::int64_t end = chunks.first(chunk + 1);
    // Subtract the first value: a large common offset would cost precision.
    const float shift = begin < end ? get(x[begin * chunks.channels + c]) : 0;
    float sum = 0;
    float square = 0;
    for (std::int64_t p = begin; p < end; ++p) {
      const float value = get(x[p * chunks.channels + c]) - shift;
      sum += value;
      square += value * value;
    }
    const float n = begin < end ? static_cast<float>(end - begin) : 1;
    means[i] = shift + sum / n;
    squares[i] = square - sum * (sum / n);
  }
};

/// One index per channel. moments [2, channels]: mean, then sum of squared deviations from it.
template <typename Real>
struct JoinMoments {
  const float* means;
  const float* squares;
  Chunks chunks;
  Real* moments;
  constexpr void operator()(std::int64_t c) const {
    Real n = 0;
    Real mean = 0;
    Real square = 0;
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      const Real more = static_cast<Real>(chunks.first(chunk + 1) - chunks.first(chunk));
      if (!(more > 0)) continue;
      const Real away = means[chunk * chunks.channels + c] - mean;
      n += more;
      mean += away * (more / n);
      const float own = squares[chunk * chunks.channels + c];
      square += (own < 0 ? 0 : own) + away * away * (more * (n - more) / n);
    }
    moments[c] = mean;
    moments[chunks.channels + c] = square;
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
};

/// y = (x - mean) inv_std weight + bias + other, then optionally a ReLU.
template <typename T>
struct NormForward {
  const T* x;
  const T* other;  // nullptr: none
  T* y;
  NormChannel of;
  std::int64_t channels;
  bool relu;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t c = i % channels;
    float value = (get(x[i]) - of.mean[c]) * of.inv_std[c] * of.weight[c] + of.bias[c];
    if (other != nullptr) value += get(other[i]);
    set(y[i], relu && value < 0 ? 0 : value);
  }
};

/// dy after the ReLU's backward pass: zero where y <= 0.
template <typename T>
struct MaskedGrad {
  const T* dy;
  const T* y;  // nullptr: no ReLU
  constexpr float operator()(std::int64_t i) const {
    return y != nullptr && get(y[i]) <= 0 ? 0 : get(dy[i]);
  }
};

/// sums [2, chunks, channels]: of dy, then of dy z, where z is the normalised x.
template <typename T>
struct ChunkGradSums {
  MaskedGrad<T> masked_dy;
  const T* x;  // nullptr: sums of dy only
  NormChannel of;
  Chunks chunks;
  float* sums;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t c = i % chunks.channels;
    const std::int64_t chunk = i / chunks.channels;
    float sum = 0;
    float product = 0;
    for (std::int64_t p = chunks.first(chunk); p < chunks.first(chunk + 1); ++p) {
      const std::int64_t at = p * chunks.channels + c;
      const float dy = masked_dy(at);
      sum += dy;
      if (x != nullptr) product += dy * ((get(x[at]) - of.mean[c]) * of.inv_std[c]);
    }
    sums[i] = sum;
    if (x != nullptr) sums[chunks.count * chunks.channels + i] = product;
  }
};

/// Sums over chunks. One index for each of `rows` x channels.
template <typename Real>
struct JoinSums {
  const float* sums;
  Chunks chunks;
  Real* joined;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t c = i % chunks.channels;
    const float* const row = sums + i / chunks.channels * chunks.count * chunks.channels;
    Real sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      sum += row[chunk * chunks.channels + c];
    }
    joined[i] = sum;
  }
};

/// Writes sums in double to gradients in the arena.
template <typename Real>
struct PutSums {
  const Real* sums;
  float* gradient;
  bool add;
  constexpr void operator()(std::int64_t c) const {
    put(gradient[c], static_cast<float>(sums[c]), add);
  }
};

/// dx = weight inv_std (dy - sum dy / n - z sum(dy z) / n); dy is also the gradient of `other`.
/// Zero for absent pixels.
template <typename T, typename Real>
struct NormBackward {
  MaskedGrad<T> masked_dy;
  const T* x;
  NormChannel of;
  const Real* sums;  // [2, channels], over all ranks
  Real count;
  std::int64_t channels;
  std::int64_t present;  // pixels
  T* dx;                 // nullptr: not needed
  T* other;
  bool add;
  bool add_other;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t c = i % channels;
    const bool there = i / channels < present;
    const float dy = there ? masked_dy(i) : 0;
    if (other != nullptr) put(other[i], dy, add_other);
    if (dx == nullptr) return;
    float value = 0;
    if (there) {
      const float z = (get(x[i]) - of.mean[c]) * of.inv_std[c];
      const auto middle = static_cast<float>(sums[c] / count);
      const auto tilt = static_cast<float>(sums[channels + c] / count);
      value = of.weight[c] * of.inv_std[c] * (dy - middle - z * tilt);
    }
    put(dx[i], value, add);
  }
};

}  // namespace dllaunch::gpu
