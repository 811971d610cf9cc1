// The present state of all the user's runs: their directories joined with one query of the queue.
#pragma once

#include <string>
#include <vector>

#include "launcher/monitor/run_state.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/run_index.hpp"

namespace dllaunch {

/// Returns runs, newest first, with at most `most_over` ended ones. Queries Slurm once, and only if
/// a run could be in its queue. If Slurm does not respond, that is recorded and the states are
/// unknown.
std::vector<RunState> observe_runs(System& system, std::size_t most_over);

/// Returns the state of one run; asks Slurm for its job.
RunState observe_run(System& system, StoredRun run);

/// The same for a run directory; writes the summary of a run that ended while it was not followed.
Result<RunState> observe_end(System& system, const std::string& path);

}  // namespace dllaunch
