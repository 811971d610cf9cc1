// Batch normalisation, the one operation that looks at several images at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/graph.hpp"

namespace dllaunch::reference {

/// What a batch normalisation reads and writes: x, y, dx and dy are [rows, channels, pixels].
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

/// What is kept from step to step, and from forward() to backward(); per channel.
struct BatchStatistics {
  std::vector<double> running_mean;
  std::vector<double> running_var;
  std::vector<double> mean;     // that the latest forward() subtracted
  std::vector<double> inv_std;  // and divided by
};

template <typename Real>
void measure(const BatchNorm& op, const Rows<Real>& v, BatchStatistics& statistics) {
  const auto n = static_cast<double>(v.rows * v.pixels);
  if (n == 0) return;
  for (std::int64_t c = 0; c < v.channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    double sum = 0;
    v.for_each(c, [&](std::int64_t i) { sum += v.x[i]; });
    const double mean = sum / n;
    double squares = 0;
    v.for_each(c, [&](std::int64_t i) { squares += (v.x[i] - mean) * (v.x[i] - mean); });
    statistics.mean[at] = mean;
    statistics.inv_std[at] = 1 / std::sqrt(squares / n + op.eps);
    const double unbiased = n > 1 ? squares / (n - 1) : squares;
    // Rounded to what the network computes in.
    const auto move = [&op](double& running, double towards) {
      running = static_cast<Real>(running + op.momentum * (towards - running));
    };
    move(statistics.running_mean[at], mean);
    move(statistics.running_var[at], unbiased);
  }
}

template <typename Real>
void forward(const BatchNorm& op, const Rows<Real>& v, bool train, BatchStatistics& statistics) {
  if (train) {
    measure(op, v, statistics);
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

/// With z = (x - mean) inv_std of a channel's n values, all of which depend on each x:
/// dweight = sum dy z, dbias = sum dy, dx = weight inv_std (dy - dbias / n - z dweight / n).
template <typename Real>
void backward(const BatchNorm&, const Rows<Real>& v, const BatchStatistics& statistics) {
  const auto n = static_cast<Real>(v.rows * v.pixels);
  for (std::int64_t c = 0; c < v.channels; ++c) {
    const auto mean = static_cast<Real>(statistics.mean[static_cast<std::size_t>(c)]);
    const auto inv_std = static_cast<Real>(statistics.inv_std[static_cast<std::size_t>(c)]);
    Real dweight = 0;
    Real dbias = 0;
    v.for_each(c, [&](std::int64_t i) {
      dweight += v.dy[i] * (v.x[i] - mean) * inv_std;
      dbias += v.dy[i];
    });
    v.dweight[c] += dweight;
    v.dbias[c] += dbias;
    if (v.dx == nullptr) continue;
    v.for_each(c, [&](std::int64_t i) {
      const Real z = (v.x[i] - mean) * inv_std;
      v.dx[i] += v.weight[c] * inv_std * (v.dy[i] - dbias / n - z * dweight / n);
    });
  }
}

}  // namespace dllaunch::reference
