// The files of a timeline, and what is needed to bring their clocks together.
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
  std::vector<ClockBounds> clock = {};  // by time, not empty

  /// What to add to this rank's clock at `at_ns`: linear between the middles of the bounds.
  std::int64_t offset_ns(std::int64_t at_ns) const;
  /// Half of the widest bounds.
  std::int64_t clock_error_ns() const;
  std::string name() const;  // "rank 3 on n1"
};

struct TimelineSources {
  std::vector<TimelineSource> ranks = {};  // by rank
  std::vector<std::string> left_out = {};  // "rank-00003.json: why"
};

/// Of one start of a job only: where files of several lie (a restart with another number of ranks)
/// those that were written last. bad_request: there is none.
Result<TimelineSources> find_timelines(const std::string& folder);

}  // namespace dllaunch
