// Batch normalisation: the only operation over several images.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/backends/channel_moments.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::reference {

/// A batch normalisation's arrays: x, y, dx and dy are [rows, channels, pixels].
template <typename Real>
struct Rows {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;
  const Real* x = nullptr;
  Real* y = nullptr;
  const Real* weight = nullptr;
  const Real* bias = nullptr;
  Real* dx = nullptr;
  const Real* dy = nullptr;
  Real* dweight = nullptr;
  Real* dbias = nullptr;

  /// Calls visit(index) for every element of a channel.
  template <typename Visit>
  void for_each(std::int64_t channel, const Visit& visit) const {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t first = (row * channels + channel) * pixels;
      for (std::int64_t p = 0; p < pixels; ++p) visit(first + p);
    }
  }
};

/// Per-channel state, kept from step to step and from forward() to backward().
struct BatchStatistics {
  std::vector<double> running_mean;
  std::vector<double> running_var;
  std::vector<double> mean;     // used by the latest forward()
  std::vector<double> inv_std;  // used by the latest forward()
  double count = 0;             // values per channel in the latest training batch, over all ranks
};

/// Returns the moments of this rank's images.
template <typename Real>
ChannelMoments own_moments(const Rows<Real>& v) {
  const auto channels = static_cast<std::size_t>(v.channels);
  ChannelMoments own{.count = static_cast<double>(v.rows * v.pixels),
                     .mean = std::vector<double>(channels),
                     .squares = std::vector<double>(channels)};
  for (std::size_t c = 0; c < channels && own.count > 0; ++c) {
    const auto channel = static_cast<std::int64_t>(c);
    double sum = 0;
    v.for_each(channel, [&](std::int64_t i) { sum += v.x[i]; });
    const double mean = sum / own.count;
    own.mean[c] = mean;
    v.for_each(channel,
               [&](std::int64_t i) { own.squares[c] += (v.x[i] - mean) * (v.x[i] - mean); });
  }
  return own;
}

template <typename Real>
void measure(const BatchNorm& op, const Rows<Real>& v, const SumOverRanks& sum,
             BatchStatistics& statistics) {
  ChannelMoments all = own_moments(v);
  allreduce_moments(all, sum);
  const double n = all.count;
  statistics.count = n;
  if (n == 0) return;
  for (std::size_t c = 0; c < all.mean.size(); ++c) {
    const double mean = all.mean[c];
    const double squares = all.squares[c];
    statistics.mean[c] = mean;
    statistics.inv_std[c] = 1 / std::sqrt(squares / n + op.eps);
    const double unbiased = n > 1 ? squares / (n - 1) : squares;
    // Rounded to Real, the precision of the network.
    const auto move = [&op](double& running, double towards) {
      running = static_cast<Real>(running + op.momentum * (towards - running));
    };
    move(statistics.running_mean[c], mean);
    move(statistics.running_var[c], unbiased);
  }
}

template <typename Real>
void forward(const BatchNorm& op, const Rows<Real>& v, bool train, const SumOverRanks& sum,
             BatchStatistics& statistics) {
  if (train) {
    measure(op, v, sum, statistics);
  } else {
    statistics.mean = statistics.running_mean;
    for (std::size_t c = 0; c < statistics.inv_std.size(); ++c) {
      statistics.inv_std[c] = 1 / std::sqrt(statistics.running_var[c] + op.eps);
    }
  }
  for (std::int64_t c = 0; c < v.channels; ++c) {
    const auto mean = static_cast<Real>(statistics.mean[static_cast<std::size_t>(c)]);
    const auto inv_std = static_cast<Real>(statistics.inv_std[static_cast<std::size_t>(c)]);
    v.for_each(
        c, [&](std::int64_t i) { v.y[i] = (v.x[i] - mean) * inv_std * v.weight[c] + v.bias[c]; });
  }
}

/// With z = (x - mean) inv_std over a channel's n values (mean and inv_std depend on x):
/// dweight = sum dy z, dbias = sum dy, dx = weight inv_std (dy - dbias / n - z dweight / n). In dx,
/// n and both sums are over all ranks; the parameters' gradients are over this rank's images.
template <typename Real>
void backward(const BatchNorm&, const Rows<Real>& v, const BatchStatistics& statistics,
              const SumOverRanks& sum) {
  const auto channels = static_cast<std::size_t>(v.channels);
  std::vector<double> sums(2 * channels);  // of dy, then of dy z
  for (std::size_t c = 0; c < channels; ++c) {
    const auto mean = static_cast<Real>(statistics.mean[c]);
    const auto inv_std = static_cast<Real>(statistics.inv_std[c]);
    Real dweight = 0;
    Real dbias = 0;
    v.for_each(static_cast<std::int64_t>(c), [&](std::int64_t i) {
      dweight += v.dy[i] * (v.x[i] - mean) * inv_std;
      dbias += v.dy[i];
    });
    v.dweight[c] += dweight;
    v.dbias[c] += dbias;
    sums[c] = dbias;
    sums[channels + c] = dweight;
  }
  if (v.dx == nullptr) return;
  if (sum) sum(sums);
  const auto n = static_cast<Real>(statistics.count);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto mean = static_cast<Real>(statistics.mean[c]);
    const auto inv_std = static_cast<Real>(statistics.inv_std[c]);
    const auto dbias = static_cast<Real>(sums[c]);
    const auto dweight = static_cast<Real>(sums[channels + c]);
    v.for_each(static_cast<std::int64_t>(c), [&](std::int64_t i) {
      const Real z = (v.x[i] - mean) * inv_std;
      v.dx[i] += v.weight[c] * inv_std * (v.dy[i] - dbias / n - z * dweight / n);
    });
  }
}

}  // namespace dllaunch::reference
