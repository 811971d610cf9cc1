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

/// "stopped", "running", "asleep in futex_wait": of /proc/PID/stat and wchan, whatever they hold.
std::string state_words(std::string_view stat, std::string_view wchan);

/// Processes of the run on this machine, but for our own and its parent.
std::vector<pid_t> pids_of_run(const std::string& run_dir);

/// One line a process of the run on this machine: "rank 1 on n2: python3 (4711) is stopped".
std::string rank_states_here(System& system, const std::string& run_dir);

/// The same of all nodes of the job; what is not answered within 10 s is said. Without Slurm: here.
std::string states_of_ranks(System& system, const RunDir& run, const JobAllocation& allocation);

}  // namespace dllaunch
