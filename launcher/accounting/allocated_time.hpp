// How long a run has had its allocations, and of how many nodes, from its journal.
#pragma once

#include <string_view>

namespace dllaunch {

/// Seconds from the first to the last line of each allocation in supervisor.jsonl, together: the
/// queue between them is not in it. `since_s`: Unix seconds; earlier lines are of earlier runs in
/// the directory. 0: no line.
double allocated_seconds(std::string_view journal, double since_s);

/// The nodes that the run had on average over `seconds`, those beyond the journal's with as many as
/// at its end. `planned`: where the journal does not say.
double mean_nodes(std::string_view journal, double since_s, int planned, double seconds);

}  // namespace dllaunch
