// Where a training starts: the newest sound checkpoint, a file of weights, or the seed.
#pragma once

#include <chrono>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// Collective. Sets the initial weights, buffers, optimiser state and position of the training on
/// all ranks, as `train.resume` says. A checkpoint that cannot be read is waited for, `patience` at
/// most. `warn` hears of it, and of damaged ones.
///
/// Fails on all ranks: bad_request: no sound checkpoint where there are some, one that does not fit
/// the model; unavailable: it cannot be read.
Result<Ok> go_to_start(Session& session, std::chrono::milliseconds patience, const Say& warn,
                       Communicator& communicator);

}  // namespace dllaunch
