// A process above the supervisor, so small that nothing in it fails: when somebody kills the
// supervisor, the next one goes on from its notes.
#pragma once

#include <functional>

#include "launcher/supervise/signals.hpp"

namespace dllaunch {

/// Runs `work` in a child and returns what it returns. Signals that `signals` keeps are handed on
/// to the child. One that is killed by a signal is replaced, twice at most, unless it had been told
/// to end; then 1. `work` blocks no other signals than `signals` does.
int guard(const SupervisorSignals& signals, const std::function<int()>& work);

/// Closes the input of whoever keeps staged copies, a child of ours, and gives them a minute to
/// remove them. -1: nobody.
void let_keeper_go(int input);

}  // namespace dllaunch
