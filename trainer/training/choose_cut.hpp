// Where a run's network is cut into the stages of a pipeline.
#pragma once

#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/pipeline/settle_cut.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// The configuration's pipeline over `ranks` ranks, a multiple of its stages.
CutOptions cut_options(const TrainConfig& config, int ranks);

/// Collective. Returns the nodes of session.graph to cut after, as cut_graph() takes them: the
/// user's, or chosen by measuring segments. Tells rank 0's user. Errors are those of settle_cut().
Result<std::vector<int>> choose_cut(const Session& session, const PrepareOptions& options,
                                    Communicator& communicator);

}  // namespace dllaunch
