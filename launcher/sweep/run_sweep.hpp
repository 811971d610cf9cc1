// Carries out a sweep: trials, each by a dllaunch of its own, several at a time.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/sweep/prepare_sweep.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Runs what is not over, and keeps optuna.journal, sweep.json and sweep.html up to date. Continues
/// what an earlier execution left in `dir`. Stops at SIGINT and SIGTERM once the running trials
/// have stopped. Returns the number of the signal; 0: none. bad_request: another sweep works there,
/// or worked there with another job file.
Result<int> run_sweep(System& system, const SweepRequest& request, PreparedSweep& prepared);

}  // namespace dllaunch
