// Finds the timeline files of a run, and aligns their clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/timeline/format/timeline_format.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// One rank's file.
struct TimelineSource {
  std::string path = {};
  TimelineHead head = {};
  TimelineCounts counts = {};
  std::vector<ClockBounds> clock = {};  // sorted by time, not empty

  /// The offset of this rank's clock at `at_ns`, interpolated between the midpoints of the bounds.
  std::int64_t offset_ns(std::int64_t at_ns) const;
  /// Half the width of the widest bounds.
  std::int64_t clock_error_ns() const;
  std::string name() const;  // "rank 3 on n1", "rank 3 on n1, stage 2"
};

struct TimelineSources {
  std::vector<TimelineSource> ranks = {};  // by rank
  std::vector<std::string> left_out = {};  // "rank-00003.json: why"
};

/// The files of one start of a job: if several starts left files (a restart with another number of
/// ranks), the latest. bad_request: there are none.
Result<TimelineSources> find_timelines(const std::string& folder);

}  // namespace dllaunch
