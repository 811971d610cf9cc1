// Searches for settings given as `auto` (batch size, learning rate, buckets) by short trials.
// Knows nothing about epochs or checkpoints; weights that a trial changes are initialised again.
#pragma once

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"
#include "trainer/tuning/choices.hpp"

namespace dllaunch {

/// Collective. Returns the choices of an earlier start of this run; empty if it starts anew, or if
/// the configuration has no `auto`.
Result<Choices> earlier_choices(const Session& session, Communicator& communicator);

/// Collective. Needs a session with data, model and shape. Sets the batch size unless the session
/// was stopped. unavailable: rank 0 cannot write choices.json.
Result<Ok> settle_batch_size(Session& session, Choices& choices, const PrepareOptions& options,
                             Communicator& communicator);

/// Replaces `lr: auto` by a number.
void take_rate(TrainConfig& config, double rate);

/// Collective. Needs a session that is ready to train; leaves the weights and statistics of the
/// last trial in it. Sets the rate unless the session was stopped.
Result<Ok> settle_rate(Session& session, Choices& choices, const PrepareOptions& options,
                       Communicator& communicator);

}  // namespace dllaunch
