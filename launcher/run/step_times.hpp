// Time spent in training steps, by step, so that lost steps can be subtracted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dllaunch {

/// Bounded: old steps of a long run are kept at lower resolution and interpolated linearly.
class StepTimes {
 public:
  static constexpr std::size_t most_points = 8192;

  /// Continues after `step` and forgets later steps. Returns their seconds.
  double begin_after(std::int64_t step);
  /// Adds `seconds` for the new steps up to `step`. If `step` is known already, only the time is
  /// added.
  void add(std::int64_t step, double seconds);

  double seconds() const { return points_.empty() ? 0 : points_.back().seconds; }

 private:
  struct Point {
    std::int64_t step = 0;
    double seconds = 0;  // total up to this step
  };
  void thin_out();

  std::vector<Point> points_;  // ascending in both fields
};

}  // namespace dllaunch
