// Turns a configuration into a session that is ready to train.
#pragma once

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// Collective. Reads the data, compiles the model, compares data and parameters between ranks, and
/// initialises the weights (from a checkpoint if `resume` finds one) with rank 0's. Values for
/// `auto` are searched for first, or read from choices.json, and stored in the session's
/// configuration. If a stop is requested meanwhile, the session is not ready and `stopped` is set
/// on all ranks.
///
/// Fails on all ranks if it fails on one, like agree(). bad_request: bad data, a checkpoint that
/// does not fit the model, a model that does not fit the images. unavailable: no such device.
Result<Session> prepare(const PrepareOptions& options, Communicator& communicator);

}  // namespace dllaunch
