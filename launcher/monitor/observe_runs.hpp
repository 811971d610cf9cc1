// All runs of the user as they are now: their directories joined with one look at the queue.
#pragma once

#include <string>
#include <vector>

#include "launcher/monitor/run_state.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/run_index.hpp"

namespace dllaunch {

/// Newest first; of those that are over at most `most_over`. Slurm is asked once, and only where a
/// run could be in its queue; when it does not answer, that is noted and their state is unknown.
std::vector<RunState> observe_runs(System& system, std::size_t most_over);

/// One run. Slurm is asked for its job.
RunState observe_run(System& system, StoredRun run);

}  // namespace dllaunch
