// A minimal process above the supervisor. When the supervisor is killed, it starts the next one,
// which continues from the journal.
#pragma once

#include <functional>

#include "launcher/supervise/signals.hpp"

namespace dllaunch {

/// Runs `work` in a child and returns what it returns. Signals that `signals` keeps are handed on
/// to the child. One that is killed by a signal is replaced, twice at most, unless it had been told
/// to end; then 1. What it has started and left behind, which has a DLLAUNCH_GENERATION, is ended
/// before the next incarnation. `work` blocks no other signals than `signals` does.
int run_under_parent(const SupervisorSignals& signals, const std::function<int()>& work);

/// True in `work` when its parent was killed. The kernel then sends `work` a SIGTERM, which looks
/// like that of a person who cancels.
bool supervisor_parent_was_killed();

}  // namespace dllaunch
