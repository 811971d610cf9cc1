// What `auto` in the configuration comes to: found by trying, and kept in choices.json.
#pragma once

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"
#include "trainer/tuning/choices.hpp"

namespace dllaunch {

/// Collective. What an earlier start of this run has chosen; nothing where it begins anew, or where
/// the configuration leaves nothing to `auto`.
Result<Choices> earlier_choices(const Session& session, Communicator& communicator);

/// Collective, on a session that has its data, model and shape. Afterwards the batch size is a
/// number, unless the session was stopped. unavailable: rank 0 cannot write.
Result<Ok> settle_batch_size(Session& session, Choices& choices, const PrepareOptions& options,
                             Communicator& communicator);

/// From here on the learning rate is a number.
void take_rate(TrainConfig& config, double rate);

/// Collective, on a session that is ready to train, whose weights and statistics are those of the
/// last trial afterwards. The rate is a number then, unless the session was stopped.
Result<Ok> settle_rate(Session& session, Choices& choices, const PrepareOptions& options,
                       Communicator& communicator);

}  // namespace dllaunch
