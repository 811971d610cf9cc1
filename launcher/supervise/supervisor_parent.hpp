// A minimal process above the supervisor. When the supervisor is killed, it starts the next one,
// which continues from the journal.
#pragma once

#include <functional>

#include "launcher/supervise/signals.hpp"

namespace dllaunch {

/// Runs `work` in a child and returns its result. Forwards the signals kept by `signals`. A child
/// killed by a signal is replaced, at most twice, unless this process had been told to end; after
/// that returns 1. Processes it left behind, which have DLLAUNCH_GENERATION, are ended before the
/// next incarnation, which gets the signals that came meanwhile. `work` must block only the signals
/// that `signals` blocks.
int run_under_parent(const SupervisorSignals& signals, const std::function<int()>& work);

/// Returns true in `work` if its parent was killed. The kernel then sends SIGTERM, which is
/// otherwise a person's request to cancel.
bool supervisor_parent_was_killed();

}  // namespace dllaunch
