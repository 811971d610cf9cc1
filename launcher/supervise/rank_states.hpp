// Process states of a run's ranks as the kernel reports them, recorded when a stalled run is ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

/// Returns "stopped", "running" or "asleep in futex_wait" from any content of /proc/PID/stat and
/// wchan.
std::string state_words(std::string_view stat, std::string_view wchan);

/// Returns the run's processes on this machine, without this process and its parent.
std::vector<pid_t> pids_of_run(const std::string& run_dir);

/// Returns one line per process of the run on this machine: "rank 1 on n2: python3 (4711) is
/// stopped".
std::string rank_states_here(System& system, const std::string& run_dir);

/// The same for all nodes of the job; nodes that do not answer within 10 s are named. Without
/// Slurm: this machine.
std::string states_of_ranks(System& system, const RunDir& run, const JobAllocation& allocation);

}  // namespace dllaunch
