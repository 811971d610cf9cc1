// Batch normalisation over the images of all ranks (`sync_batch_norm`).
#pragma once

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch {

/// bad_request: the graph has no batch normalisation.
Result<Ok> check_batch_norm(const Graph& graph);

/// What a backend sums statistics with; empty on one rank. What it waits there is told as time of
/// RankPhase::reduce, if anybody listens. `communicator` and `activity` outlive the executable.
SumOverRanks sum_over_ranks(Communicator& communicator, Activity* activity);

}  // namespace dllaunch
