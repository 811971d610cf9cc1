// The supervisor: starts a run's ranks, watches them, and does what policy.hpp decides when they
// end.
// It runs inside the job and knows nothing of other runs or the daemon; its journal is
// RUN/supervisor.jsonl.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/supervise/attempt_watch.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// `start`: srun or mpirun, its options and the ranks' command. bad_request: no such run.
/// unavailable: no such program.
Result<SupervisedRun> read_supervised_run(System& system, const std::string& run_dir,
                                          const std::vector<std::string>& start);

/// Returns the batch script's exit code when the run needs no more ranks in this allocation: it is
/// complete, given up, or requeued.
int supervise(System& system, const SupervisedRun& run);

}  // namespace dllaunch
