// From a configuration to a session that is ready to train.
#pragma once

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// Collective. Reads the data, compiles the model, compares data and parameter tables, fills the
/// weights (from a checkpoint where `resume` finds one) and spreads rank 0's. What the
/// configuration leaves to `auto` is found before that, or read in choices.json, and stands in the
/// session's own configuration. Where a stop is requested meanwhile, the session is not ready: it
/// says `stopped` on all ranks.
///
/// Fails on all ranks when it fails on one, as agree() tells. bad_request: data, a checkpoint that
/// does not fit the model, a model that does not fit the images. unavailable: no such device here.
Result<Session> prepare(const PrepareOptions& options, Communicator& communicator);

}  // namespace dllaunch
