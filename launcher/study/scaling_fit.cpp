#include "launcher/study/scaling_fit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

namespace dllaunch {
namespace {

constexpr std::size_t terms = 3;  // s, w, e
using Terms = std::array<double, terms>;

/// What the three unknowns are multiplied by.
Terms basis(double ranks, Scaling scaling, bool linear) {
  const double grows = linear ? ranks - 1 : std::log2(ranks);
  return {1, scaling == Scaling::strong ? 1 / ranks : 0, grows};
}

/// A measured size: its median time. Residuals are relative to it.
struct Sample {
  double ranks = 1;
  double time = 1;
};

double squared_error(std::span<const Sample> samples, const Terms& found, Scaling scaling,
                     bool linear) {
  double sum = 0;
  for (const Sample& sample : samples) {
    const Terms row = basis(sample.ranks, scaling, linear);
    double time = 0;
    for (std::size_t i = 0; i < terms; ++i) time += row[i] * found[i];
    sum += std::pow(time / sample.time - 1, 2);
  }
  return sum;
}

/// Least squares over the terms in `used` (bits), by elimination: the normal equations are positive
/// definite, so they need no exchange of rows. false: singular.
bool solve(std::span<const Sample> samples, unsigned used, Scaling scaling, bool linear,
           Terms& found) {
  std::array<std::array<double, terms + 1>, terms> matrix{};
  for (const Sample& sample : samples) {
    Terms row = basis(sample.ranks, scaling, linear);
    for (double& value : row) value /= sample.time;
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) matrix[i][j] += row[i] * row[j];
      matrix[i][terms] += row[i];
    }
  }
  Terms whole{};  // of each column, before the others are taken from it
  for (std::size_t i = 0; i < terms; ++i) whole[i] = matrix[i][i];
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < terms; ++i)
    if ((used >> i & 1U) != 0) kept.push_back(i);
  found = {};
  for (std::size_t k = 0; k < kept.size(); ++k) {
    const double pivot = matrix[kept[k]][kept[k]];
    if (!(std::abs(pivot) > 1e-12 * whole[kept[k]])) return false;
    for (std::size_t r = 0; r < kept.size(); ++r) {
      if (r == k) continue;
      const double factor = matrix[kept[r]][kept[k]] / pivot;
      for (std::size_t j = 0; j <= terms; ++j) matrix[kept[r]][j] -= factor * matrix[kept[k]][j];
    }
  }
  for (const std::size_t i : kept) found[i] = matrix[i][terms] / matrix[i][i];
  return true;
}

/// No term is negative: of all subsets of terms, the one that fits best without one. There are
/// seven, so they are tried.
ScalingFit fit_scaled(std::span<const Sample> samples, Scaling scaling, bool linear) {
  Terms best{};
  double least = std::numeric_limits<double>::infinity();
  int terms_used = 1;
  for (unsigned used = 1; used < (1U << terms); ++used) {
    Terms found{};
    if (!solve(samples, used, scaling, linear, found)) continue;
    if (std::ranges::any_of(found, [](double term) { return !(term >= 0); })) continue;
    const double error = squared_error(samples, found, scaling, linear);
    // More terms must earn their place: noise of the arithmetic is no gain.
    if (error < least * (1 - 1e-9) - 1e-24) {
      least = error;
      best = found;
      terms_used = std::popcount(used);
    }
  }
  return {
      .scaling = scaling,
      .serial = best[0],
      .parallel = best[1],
      .exchange = best[2],
      .linear = linear,
      .residual = std::sqrt(least / std::max(1, static_cast<int>(samples.size()) - terms_used))};
}

/// The same in any unit of time.
ScalingFit fit_with(std::span<const Sample> samples, Scaling scaling, bool linear) {
  const double unit = samples.front().time;
  std::vector<Sample> scaled(samples.begin(), samples.end());
  for (Sample& sample : scaled) sample.time /= unit;
  ScalingFit fit = fit_scaled(scaled, scaling, linear);
  fit.serial *= unit;
  fit.parallel *= unit;
  fit.exchange *= unit;
  return fit;
}

std::vector<Sample> samples_of(std::span<const SizeTimes> sizes) {
  std::vector<Sample> samples;
  for (const SizeTimes& size : sizes)
    samples.push_back({.ranks = static_cast<double>(size.ranks), .time = median(size.times)});
  return samples;
}

double mean_of(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  return mean;
}

/// The degrees of freedom of the pooled spread.
int freedom_of(std::span<const SizeTimes> sizes) {
  int freedom = 0;
  for (const SizeTimes& size : sizes) freedom += static_cast<int>(size.times.size()) - 1;
  return freedom;
}

/// The standard error of a median of so many times is up to sqrt(pi / 2) that of their mean.
double error_of_median(double spread, std::size_t repeats) {
  return spread * (repeats > 2 ? 1.2533 : 1) / std::sqrt(static_cast<double>(repeats));
}

/// The value below which `share` of the sorted values lie.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(at))];
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double ScalingFit::at(int ranks) const {
  const Terms row = basis(ranks, scaling, linear);
  return serial * row[0] + parallel * row[1] + exchange * row[2];
}

ScalingFit fit_scaling(std::span<const SizeTimes> sizes, Scaling scaling) {
  const auto samples = samples_of(sizes);
  auto fit = fit_with(samples, scaling, /*linear=*/false);
  if (sizes.size() < 4) return fit;
  const auto ring = fit_with(samples, scaling, /*linear=*/true);
  return ring.residual < fit.residual ? ring : fit;
}

double relative_spread(std::span<const SizeTimes> sizes) {
  constexpr double assumed = 0.05;
  double squares = 0;
  for (const SizeTimes& size : sizes) {
    if (size.times.size() < 2) continue;
    const double mean = mean_of(size.times);
    for (const double time : size.times) squares += std::pow(time / mean - 1, 2);
  }
  const int freedom = freedom_of(sizes);
  return freedom == 0 ? assumed : std::sqrt(squares / freedom);
}

std::vector<Prediction> predict(std::span<const SizeTimes> sizes, Scaling scaling,
                                std::span<const int> ranks) {
  constexpr int draws = 600;
  constexpr double least_spread = 0.002;  // equal repeats are luck
  // Terms that may not be negative narrow the draws: 95 % of them hold 9 of 10 measurements.
  constexpr double tail = 0.025;
  const auto fit = fit_scaling(sizes, scaling);
  const auto measured = samples_of(sizes);
  // What the repeats say, or how badly the model fits: whichever is more.
  const double spread = std::max({relative_spread(sizes), fit.residual, least_spread});
  std::mt19937_64 random(2026);
  std::normal_distribution<double> normal;
  // The spread of few repeats is uncertain itself: Student's t.
  const int freedom = freedom_of(sizes);
  std::size_t most_repeats = 1;
  for (const SizeTimes& size : sizes) most_repeats = std::max(most_repeats, size.times.size());
  std::chi_squared_distribution<double> chi_squared(std::max(1, freedom));
  std::vector<std::vector<double>> drawn(ranks.size());
  for (int i = 0; i < draws; ++i) {
    const double scale = freedom == 0 ? 1 : std::sqrt(freedom / std::max(0.1, chi_squared(random)));
    const auto factor = [&](std::size_t repeats) {
      return std::max(0.1, 1 + scale * error_of_median(spread, repeats) * normal(random));
    };
    auto samples = measured;
    for (std::size_t s = 0; s < samples.size(); ++s)
      samples[s].time *= factor(sizes[s].times.size());
    const double own = factor(most_repeats);  // of the new measurement
    const auto again = fit_with(samples, scaling, /*linear=*/i % 2 == 1);
    for (std::size_t r = 0; r < ranks.size(); ++r) drawn[r].push_back(again.at(ranks[r]) * own);
  }
  std::vector<Prediction> predictions;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::ranges::sort(drawn[r]);
    const double time = fit.at(ranks[r]);
    predictions.push_back({.ranks = ranks[r],
                           .time = time,
                           .low = std::min(time, quantile(drawn[r], tail)),
                           .high = std::max(time, quantile(drawn[r], 1 - tail))});
  }
  return predictions;
}

}  // namespace dllaunch
