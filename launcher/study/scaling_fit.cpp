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

constexpr std::size_t terms = 3;  // s, w, and e or x
using Terms = std::array<double, terms>;

double grown(double ranks, bool linear) {
  return linear ? ranks - 1 : std::log2(ranks);
}

/// A measured size: its median time. Residuals are relative to it.
struct Sample {
  int ranks = 1;
  double time = 1;
};

/// A sample, and what the unknowns are multiplied by. `known` is a part of the time that is not
/// fitted.
struct Row {
  double time = 1;
  Terms basis = {};
  double known = 0;
};

std::vector<Row> rows_of(std::span<const Sample> samples, Scaling scaling,
                         const std::function<double(int)>& exchange) {
  std::vector<Row> rows;
  for (const auto& [ranks, time] : samples)
    rows.push_back({.time = time,
                    .basis = {1, scaling == Scaling::strong ? 1.0 / ranks : 0, exchange(ranks)}});
  return rows;
}

/// What is guessed of the last unknown, and how much that counts; a relative error counts 1.
struct Guess {
  double value = 0;
  double weight = 0;
};

double squared_error(std::span<const Row> rows, const Terms& found) {
  double sum = 0;
  for (const Row& row : rows) {
    double time = row.known;
    for (std::size_t i = 0; i < terms; ++i) time += row.basis[i] * found[i];
    sum += std::pow(time / row.time - 1, 2);
  }
  return sum;
}

/// Least squares over the terms in `used` (bits), by elimination: the normal equations are positive
/// definite, so they need no exchange of rows. false: singular.
bool solve(std::span<const Row> rows, unsigned used, Guess guess, Terms& found) {
  std::array<std::array<double, terms + 1>, terms> matrix{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < terms; ++i) {
      const double own = row.basis[i] / row.time;
      for (std::size_t j = 0; j < terms; ++j) matrix[i][j] += own * row.basis[j] / row.time;
      matrix[i][terms] += own * (1 - row.known / row.time);
    }
  }
  matrix[terms - 1][terms - 1] += guess.weight;
  matrix[terms - 1][terms] += guess.weight * guess.value;
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

struct Found {
  Terms terms = {};
  double cost = std::numeric_limits<double>::infinity();
  int used = 0;
};

/// No term is negative: of all subsets of `allowed` terms (bits), the one that fits best without
/// one. There are at most eight, so they are tried.
Found best_terms(std::span<const Row> rows, unsigned allowed, Guess guess = {}) {
  Found best;
  for (unsigned used = 0; used <= allowed; ++used) {
    if ((used & ~allowed) != 0) continue;
    Terms found{};
    if (!solve(rows, used, guess, found)) continue;
    if (std::ranges::any_of(found, [](double term) { return !(term >= 0); })) continue;
    const double cost =
        squared_error(rows, found) + guess.weight * std::pow(found[terms - 1] - guess.value, 2);
    // More terms must earn their place: noise of the arithmetic is no gain.
    if (cost < best.cost * (1 - 1e-9) - 1e-24)
      best = {.terms = found, .cost = cost, .used = std::popcount(used)};
  }
  return best;
}

ScalingFit fit_of(std::span<const Row> rows, const Found& found, Scaling scaling) {
  const int freedom = std::max(1, static_cast<int>(rows.size()) - found.used);
  return {.scaling = scaling,
          .serial = found.terms[0],
          .parallel = found.terms[1],
          .exchange = found.terms[2],
          .residual = std::sqrt(squared_error(rows, found.terms) / freedom)};
}

ScalingFit fit_scaled(std::span<const Sample> samples, Scaling scaling, bool linear) {
  const auto rows = rows_of(samples, scaling, [linear](int ranks) { return grown(ranks, linear); });
  ScalingFit fit = fit_of(rows, best_terms(rows, 0b111), scaling);
  fit.linear = linear;
  return fit;
}

/// s, w and x from a guess of x. The cost is convex: if its minimum has x > 1, the one up to 1 has
/// x = 1.
ScalingFit fit_measured(std::span<const Sample> samples, Scaling scaling,
                        const ExchangeTime& measured, Guess guess) {
  auto rows = rows_of(samples, scaling, measured);
  Found found = best_terms(rows, 0b111, guess);
  if (found.terms[2] > 1) {
    for (Row& row : rows) row.known = row.basis[2];
    found = best_terms(rows, 0b011);
    for (Row& row : rows) row.known = 0;
    found.terms[2] = 1;
  }
  ScalingFit fit = fit_of(rows, found, scaling);
  fit.measured = measured;
  return fit;
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
    samples.push_back({.ranks = size.ranks, .time = median(size.times)});
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

std::size_t most_repeats(std::span<const SizeTimes> sizes) {
  std::size_t most = 1;
  for (const SizeTimes& size : sizes) most = std::max(most, size.times.size());
  return most;
}

constexpr double least_spread = 0.002;  // equal repeats are luck

/// Of x. It counts as much as the spread of the times lets it: where few sizes leave x open.
Guess guess_of(double share, std::span<const SizeTimes> sizes) {
  constexpr double error = 0.4;  // standard error of a guess of 0 to 1
  const double of_times =
      error_of_median(std::max(relative_spread(sizes), least_spread), most_repeats(sizes));
  return {.value = share, .weight = std::pow(of_times / error, 2)};
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
  return serial + (scaling == Scaling::strong ? parallel / ranks : 0) +
         exchange * (measured ? measured(ranks) : grown(ranks, linear));
}

ScalingFit fit_scaling(std::span<const SizeTimes> sizes, Scaling scaling,
                       const ExchangeTime& measured) {
  const auto samples = samples_of(sizes);
  if (measured) return fit_measured(samples, scaling, measured, guess_of(0.5, sizes));
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
                                std::span<const int> ranks, const ExchangeTime& measured) {
  constexpr int draws = 600;
  // Terms that may not be negative narrow the draws: 95 % of them hold 9 of 10 measurements.
  constexpr double tail = 0.025;
  const auto fit = fit_scaling(sizes, scaling, measured);
  const auto medians = samples_of(sizes);
  // What the repeats say, or how badly the model fits: whichever is more.
  const double spread = std::max({relative_spread(sizes), fit.residual, least_spread});
  std::mt19937_64 random(2026);
  std::normal_distribution<double> normal;
  // All hidden, nothing hidden, and all between: the ends are as likely as a quarter each.
  std::uniform_real_distribution<double> share(-0.5, 1.5);
  // The spread of few repeats is uncertain itself: Student's t.
  const int freedom = freedom_of(sizes);
  std::chi_squared_distribution<double> chi_squared(std::max(1, freedom));
  std::vector<std::vector<double>> drawn(ranks.size());
  for (int i = 0; i < draws; ++i) {
    const double scale = freedom == 0 ? 1 : std::sqrt(freedom / std::max(0.1, chi_squared(random)));
    const auto factor = [&](std::size_t repeats) {
      return std::max(0.1, 1 + scale * error_of_median(spread, repeats) * normal(random));
    };
    auto samples = medians;
    for (std::size_t s = 0; s < samples.size(); ++s)
      samples[s].time *= factor(sizes[s].times.size());
    const double own = factor(most_repeats(sizes));  // of the new measurement
    const auto again = measured ? fit_measured(samples, scaling, measured,
                                               guess_of(std::clamp(share(random), 0.0, 1.0), sizes))
                                : fit_with(samples, scaling, /*linear=*/i % 2 == 1);
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
