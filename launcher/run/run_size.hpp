// The ranks of an elastic run: as many as were planned, or as the nodes that are left have.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/run_outline.hpp"
#include "launcher/run/journal.hpp"

namespace dllaunch {

/// The nodes of the ranks at each of their starts in that Slurm job, equal ones in a row once.
/// Empty for a run that is not elastic (recovery.min_nodes), and before the first start.
std::vector<int> sizes_in(const Journal& journal, const RunOutline& plan, const std::string& job);

/// The ranks of the newest start; before the first, as planned.
int ranks_now(const RunOutline& plan, const std::vector<int>& sizes);

/// "3 on 3 of 4 nodes, at least 2"; as planned: "4 on 4 nodes, at least 2".
std::string rank_words(const RunOutline& plan, const std::vector<int>& sizes);

/// "ranks 4, then 3, then 4"; empty: their number did not change.
std::string change_words(const RunOutline& plan, const std::vector<int>& sizes);

}  // namespace dllaunch
