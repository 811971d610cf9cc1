// Makes a session compute its units of split dense layers.
#pragma once

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// Whether this many ranks split layers.
bool splits(const TrainConfig& config, int ranks);

/// Collective; nothing unless it splits(). Sets session.parts and logs what a rank holds. Errors of
/// split_network(), on all ranks.
Result<Ok> open_split(Session& session, const PrepareOptions& options, Communicator& communicator);

}  // namespace dllaunch
