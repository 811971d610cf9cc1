// How long a run has had its allocations, and of how many nodes, from its journal.
#pragma once

#include <string_view>

namespace dllaunch {

/// Seconds from the first to the last line of each allocation in supervisor.jsonl, together: the
/// queue between them is not in it. `since_s`: Unix seconds; earlier lines are of earlier runs in
/// the directory. 0: no line.
double allocated_seconds(std::string_view journal, double since_s);

/// How long allocations were kept after errors of the program (recovery.hold_on_error), in seconds.
struct HeldTime {
  double all = 0;
  double in_vain = 0;  // of these, until the job ended without `dllaunch retry`
};
/// Of the same lines. A hold that goes on, or whose end was not written, does not count.
HeldTime held_time(std::string_view journal, double since_s);

/// The nodes that the run had on average over `seconds`, those beyond the journal's with as many as
/// at its end. `planned`: where the journal does not say.
double mean_nodes(std::string_view journal, double since_s, int planned, double seconds);

}  // namespace dllaunch
