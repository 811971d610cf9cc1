// Batch normalisation over all ranks (`sync_batch_norm`).
#pragma once

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch {

/// bad_request: the graph has no batch normalisation.
Result<Ok> check_batch_norm(const Graph& graph);

/// Returns the function with which a backend sums statistics; empty with one rank. Its waiting time
/// counts as RankPhase::reduce if `activity` is given. Both must outlive the executable.
SumOverRanks sum_over_ranks(Communicator& communicator, Activity* activity);

}  // namespace dllaunch
