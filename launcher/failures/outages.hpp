// When nodes were out of service: a CSV file of the user's.
//
//   # nodes: 400
//   # from: 2026-01-01
//   # until: 2026-11-23
//   node,failed,repaired
//   n12,2026-01-03 04:00,2026-01-04 12:30
//   n13,2026-11-20T08:00:00Z,
//
// Other columns are skipped. Times are dates, or in the whole file days as plain numbers from 0 on.
// At most 100,000 rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct NodeOutage {
  std::string node = {};
  double failed_s = 0;        // if before the period: its begin
  double repaired_s = 0;      // of a node that is still out: the end of the period
  bool began_before = false;  // the period: no failure in it, but the node is out
};

struct NodeOutages {
  std::vector<NodeOutage> all = {};  // by node and time; those of one node do not overlap
  int nodes = 0;                     // watched, with those that never failed
  double from_s = 0;                 // the period in which they were watched
  double until_s = 0;
  bool nodes_given = false;  // else those that appear
};

/// Outages that began in the period.
int failures_in(const NodeOutages& outages);

/// Overlapping outages of a node are one; what lies outside the period is cut off. Without the
/// comments the nodes are those that appear, and the period is from the first moment to the last.
/// bad_request: the first mistake, as "FILE:LINE: ...".
Result<NodeOutages> parse_outages(std::string_view text, const std::string& file);

}  // namespace dllaunch
