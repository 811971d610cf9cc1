// The time that training steps took, by step, so that lost ones can be taken back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dllaunch {

/// Bounded: of a long run old steps are known more coarsely, and lie on straight lines between.
class StepTimes {
 public:
  static constexpr std::size_t most_points = 8192;

  /// What comes next begins after `step`; later steps are forgotten. Returns their seconds.
  double begin_after(std::int64_t step);
  /// The steps up to `step` that were not there yet took so long. Of a step that is there already
  /// only the time counts.
  void add(std::int64_t step, double seconds);

  double seconds() const { return points_.empty() ? 0 : points_.back().seconds; }

 private:
  struct Point {
    std::int64_t step = 0;
    double seconds = 0;  // of all steps up to it
  };
  void thin_out();

  std::vector<Point> points_;  // ascending in both
};

}  // namespace dllaunch
