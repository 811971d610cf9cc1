// The supervisor: starts a run's ranks, watches them, and does what policy.hpp decides when they
// end.
// It runs inside the job and knows nothing of other runs or the daemon; its journal is
// RUN/supervisor.jsonl.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/supervise/supervised_run.hpp"

namespace dllaunch {

/// Returns the batch script's exit code when the run needs no more ranks in this allocation: it is
/// complete, given up, or requeued.
int supervise(System& system, const SupervisedRun& run);

}  // namespace dllaunch
