// When the nodes of a job fail: random, a function of the seed alone.
#pragma once

#include <cstdint>

#include "launcher/failures/failure_rates.hpp"

namespace dllaunch {

class FailureClock {
 public:
  FailureClock(const HitRates& hits, std::uint64_t seed);

  /// The next moment after `time_s` at which one of the `held` nodes fails; infinity: not before
  /// `until_s`.
  double next_after(double time_s, int held, double until_s);
  /// How many nodes fail then: 1 or more.
  int group_size();
  /// 0 .. bound-1.
  int below(int bound);

 private:
  double unit();
  double period_factor(double period);

  const HitRates& hits_;
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
  double run_factor_ = 1;
  double known_period_ = -1;
  double known_factor_ = 1;
};

/// Gamma-distributed with mean 1 and this coefficient of variation, from two random numbers' keys:
/// Marsaglia and Tsang 2000. 1 for cv 0.
double uneven_factor(double cv, std::uint64_t key);

}  // namespace dllaunch
