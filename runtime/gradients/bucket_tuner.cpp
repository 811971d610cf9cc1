#include "runtime/gradients/bucket_tuner.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dllaunch {

BucketTuner::BucketTuner(int candidates, TunerLimits limits)
    : limits_(limits),
      candidates_(candidates),
      done_(candidates < 2),
      seconds_(static_cast<std::size_t>(candidates)) {
  assert(candidates > 0);
}

/// Plans as many candidates as can be tried often enough, then as many rounds as time allows.
void BucketTuner::plan(double step_s, double elapsed_s) {
  const double left = (limits_.seconds - elapsed_s) / std::max(step_s, 1e-9);
  const double steps = std::clamp(left, 0.0, 1e6);
  candidates_ = std::min(candidates_, static_cast<int>(steps) / limits_.fewest_rounds);
  if (candidates_ >= 2) rounds_ = std::min(limits_.rounds, static_cast<int>(steps) / candidates_);
}

void BucketTuner::record(double seconds, double elapsed_s) {
  if (done_) return;
  const double step_s = elapsed_s - std::exchange(latest_s_, elapsed_s);
  if (before_ > 0) {
    if (--before_ > 0) return;
    plan(step_s, elapsed_s);
    done_ = candidates_ < 2;
    return;
  }
  seconds_[static_cast<std::size_t>(trial_)].push_back(seconds);
  trial_ = (trial_ + 1) % candidates_;
  const int complete = static_cast<int>(seconds_[static_cast<std::size_t>(candidates_ - 1)].size());
  if (complete == rounds_ || elapsed_s >= limits_.seconds) decide();
}

double BucketTuner::seconds_of(int candidate) const {
  auto values = seconds_[static_cast<std::size_t>(candidate)];
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void BucketTuner::decide() {
  done_ = true;
  const auto complete = seconds_[static_cast<std::size_t>(candidates_ - 1)].size();
  if (complete < static_cast<std::size_t>(limits_.fewest_rounds)) return;
  measured_ = true;
  double best = seconds_of(0) * (1 - limits_.worthwhile);
  for (int candidate = 1; candidate < candidates_; ++candidate) {
    const double seconds = seconds_of(candidate);
    if (seconds >= best) continue;
    best = seconds;
    choice_ = candidate;
  }
}

}  // namespace dllaunch
