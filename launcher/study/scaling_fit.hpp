// How a job's time depends on its number of ranks: a fit, and what it says of other numbers. Pure.
//
// The time of a fixed piece of work on p ranks is modelled as
//
//   strong scaling   t(p) = s + w / p + e g(p)    the work is divided among the ranks
//   weak scaling     t(p) = s + e g(p)            each rank has the same work
//
// with s, w, e >= 0. s: what more ranks do not shorten (Amdahl 1967). e g(p): the exchange between
// ranks, in the alpha-beta model (Hockney 1994; Thakur et al. 2005). Its part for latency grows as
// g(p) = log2 p (trees, hierarchies) or g(p) = p - 1 (rings). Its part for bandwidth,
// 2 n beta (p - 1) / p, is in s and w already: a constant minus a p-th.
//
// Where an all-reduce was measured, e g(p) is x m(p): m(p) is what the whole exchange takes at p
// ranks, and 0 <= x <= 1 the share of it that computation does not hide. The backward pass hides an
// unknown part, so the measurement is a bound and not the term itself.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace dllaunch {

enum class Scaling { strong, weak };

/// Measured times at one number of ranks: one per repeat, any unit, all > 0.
struct SizeTimes {
  int ranks = 1;
  std::vector<double> times = {};
};

/// m(p), in the unit of the times; 0 at one rank. Empty: not measured.
using ExchangeTime = std::function<double(int ranks)>;

struct ScalingFit {
  Scaling scaling = Scaling::strong;
  double serial = 0;    // s
  double parallel = 0;  // w
  double exchange = 0;  // e, or x where the exchange was measured
  bool linear = false;  // g(p) is p - 1, not log2 p
  double residual = 0;  // root of the mean squared relative error at the measured sizes
  ExchangeTime measured = {};

  double at(int ranks) const;
};

/// The fit with the least relative squared error of the medians. p - 1 is chosen over log2 p only
/// if four or more sizes fit it better: three fit either. Requires at least one size, each with a
/// time. With `measured`, x also weighs the times by their spread against a first guess of a half,
/// which counts where few sizes leave x open.
ScalingFit fit_scaling(std::span<const SizeTimes> sizes, Scaling scaling,
                       const ExchangeTime& measured = {});

struct Prediction {
  int ranks = 1;
  double time = 0;
  double low = 0;  // 9 of 10 measurements lie between these, if the model holds
  double high = 0;
};

/// Predicts the median time of another study's repeats. The bands come from a parametric bootstrap
/// with a fixed seed: medians are redrawn, by Student's t, with the relative spread of the repeats
/// pooled over the sizes, and fitted with both g(p); with `measured`, from first guesses of x in
/// all of 0 to 1. Without repeats the spread is taken to be 5 %.
std::vector<Prediction> predict(std::span<const SizeTimes> sizes, Scaling scaling,
                                std::span<const int> ranks, const ExchangeTime& measured = {});

/// The relative standard deviation of a single time, pooled over the sizes; 0.05 without repeats.
double relative_spread(std::span<const SizeTimes> sizes);

/// Middle value, or the mean of the two middle ones. Requires at least one.
double median(std::vector<double> values);

}  // namespace dllaunch
