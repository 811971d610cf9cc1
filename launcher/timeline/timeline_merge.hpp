// The timelines of a run's ranks, on rank 0's clock, as one Chrome trace.
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
  IdSet ranks = {};                        // in the trace
  std::vector<std::string> left_out = {};  // "rank-00003.json: why"
  std::uint64_t spans = 0;                 // of the ranks' files
  std::uint64_t dropped = 0;               // they came faster than they could be written
  std::uint64_t overwritten = 0;           // older ones than a rank's file holds
  std::int64_t damaged = 0;                // records caught half-written
  double seconds = 0;                      // from the first to the last
  std::int64_t first_step = 0;             // 1-based, as events.jsonl counts
  std::int64_t last_step = 0;
  int hosts = 0;
  std::int64_t clock_error_ns = 0;                   // at most
  std::map<std::string, double> phase_seconds = {};  // of steps, summed over ranks
};

/// Reads `folder`/rank-*.json, also while ranks write them, and writes `output`: first under a
/// temporary name. Its memory does not grow with the files. `ranks`: only these.
/// bad_request: no timeline there; unavailable: `output` cannot be written.
///
/// In it a collective that all ranks have is divided as Horovod divides it: NEGOTIATE_ALLREDUCE
/// until the last rank has brought its data, which is named, then HIERARCHICAL_ALLREDUCE.
Result<MergedTimeline> merge_timelines(const std::string& folder, const std::optional<IdSet>& ranks,
                                       const std::string& output);

std::string render_merged(const MergedTimeline& merged);
Json to_json(const MergedTimeline& merged);

}  // namespace dllaunch
