// Merges the timelines of a run's ranks into one Chrome trace, on rank 0's clock.
// Does not record timelines: runtime/timeline does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/id_set.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct MergedTimeline {
  std::string output = {};
  std::uint64_t bytes = 0;
  int ranks_of_job = 0;
  IdSet ranks = {};                        // contained in the trace
  std::vector<std::string> left_out = {};  // "rank-00003.json: why"
  std::uint64_t spans = 0;                 // in the ranks' files
  std::uint64_t dropped = 0;               // recorded faster than they could be written
  std::uint64_t overwritten = 0;           // older than what a rank's file holds
  std::int64_t damaged = 0;                // half-written records
  double seconds = 0;                      // first to last
  std::int64_t first_step = 0;             // 1-based, as in events.jsonl
  std::int64_t last_step = 0;
  int hosts = 0;
  std::int64_t clock_error_ns = 0;                   // at most
  std::map<std::string, double> phase_seconds = {};  // of steps, summed over ranks
};

/// Reads `folder`/rank-*.json, even while ranks write them, and writes `output` atomically. Memory
/// use does not depend on the files' size. `ranks`: restricts the merge. bad_request: no timeline
/// in the folder; unavailable: `output` cannot be written.
///
/// A collective that all ranks recorded is split as in Horovod: NEGOTIATE_ALLREDUCE until the last
/// rank (which is named) has brought its data, then HIERARCHICAL_ALLREDUCE.
Result<MergedTimeline> merge_timelines(const std::string& folder, const std::optional<IdSet>& ranks,
                                       const std::string& output);

std::string render_merged(const MergedTimeline& merged);
Json to_json(const MergedTimeline& merged);

}  // namespace dllaunch
