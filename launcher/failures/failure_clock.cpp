#include "launcher/failures/failure_clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "support/random.hpp"

namespace dllaunch {
namespace {

/// Numbers of a key, one after the other; (0, 1].
class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  double next() { return 1 - random_unit(random_bits(key_, counter_++)); }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace

double uneven_factor(double cv, std::uint64_t key) {
  if (cv <= 0) return 1;
  Draws draws(key);
  const double shape = 1 / (cv * cv);
  // Below 1 the method wants a larger shape and a power.
  const double raised = shape < 1 ? shape + 1 : shape;
  const double power = shape < 1 ? std::pow(draws.next(), 1 / shape) : 1;
  const double d = raised - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  constexpr int most_tries = 1000;  // each is accepted in 19 of 20 cases
  for (int i = 0; i < most_tries; ++i) {
    const double radius = std::sqrt(-2 * std::log(draws.next()));
    const double normal = radius * std::cos(2 * std::numbers::pi * draws.next());
    const double v = std::pow(1 + c * normal, 3);
    const double u = draws.next();
    if (v > 0 && std::log(u) < normal * normal / 2 + d * (1 - v + std::log(v)))
      return d * v * power / shape;
  }
  return 1;
}

FailureClock::FailureClock(const HitRates& hits, std::uint64_t seed)
    : hits_(hits),
      key_(random_key(seed, "failures")),
      run_factor_(uneven_factor(hits.uneven_run, random_key(seed, "nodes"))) {}

double FailureClock::unit() {
  return random_unit(random_bits(key_, drawn_++));
}

int FailureClock::below(int bound) {
  return static_cast<int>(
      random_below(random_bits(key_, drawn_++), static_cast<std::uint64_t>(bound)));
}

double FailureClock::period_factor(double period) {
  if (period == known_period_) return known_factor_;
  known_period_ = period;
  const auto number = static_cast<std::uint64_t>(period);
  known_factor_ = uneven_factor(hits_.uneven_times, random_bits(mix_bits(key_), number));
  return known_factor_;
}

double FailureClock::next_after(double time_s, int held, double until_s) {
  const double rate = hits_.per_s * run_factor_ * held / hits_.nodes;
  if (!(rate > 0)) return std::numeric_limits<double>::infinity();
  double hazard = -std::log(1 - unit());
  if (hits_.uneven_times <= 0) {
    const double next = time_s + hazard / rate;
    return next < until_s ? next : std::numeric_limits<double>::infinity();
  }
  while (time_s < until_s) {
    const double period = std::floor(time_s / rate_period_s);
    const double end = std::min(until_s, (period + 1) * rate_period_s);
    const double here = rate * period_factor(period);
    if (hazard < here * (end - time_s)) return time_s + hazard / here;
    hazard -= here * (end - time_s);
    time_s = end;
  }
  return std::numeric_limits<double>::infinity();
}

int FailureClock::group_size() {
  double left = unit();
  int size = 1;
  for (const double share : hits_.shares) {
    if (left < share) return size;
    left -= share;
    ++size;
  }
  return 1;
}

}  // namespace dllaunch
