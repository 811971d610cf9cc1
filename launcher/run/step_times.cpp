#include "launcher/run/step_times.hpp"

#include <algorithm>

namespace dllaunch {

double StepTimes::begin_after(std::int64_t step) {
  const double before = seconds();
  const auto later = std::ranges::upper_bound(points_, step, {}, &Point::step);
  double kept = before;
  if (later != points_.end()) {
    kept = 0;
    if (later != points_.begin()) {
      const Point& from = *(later - 1);
      const double share =
          static_cast<double>(step - from.step) / static_cast<double>(later->step - from.step);
      kept = from.seconds + share * (later->seconds - from.seconds);
    }
    points_.erase(later, points_.end());
  }
  if (points_.empty() || points_.back().step < step) points_.push_back({step, kept});
  return before - kept;
}

void StepTimes::add(std::int64_t step, double seconds) {
  if (points_.empty()) points_.push_back({0, 0});
  const double sum = points_.back().seconds + seconds;
  if (step > points_.back().step) {
    points_.push_back({step, sum});
    if (points_.size() > most_points) thin_out();
  } else {
    points_.back().seconds = sum;
  }
}

void StepTimes::thin_out() {
  std::vector<Point> fewer;
  const std::size_t half = points_.size() / 2;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (i >= half || i % 2 == 0) fewer.push_back(points_[i]);
  }
  points_ = std::move(fewer);
}

}  // namespace dllaunch
