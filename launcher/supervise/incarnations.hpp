// What one start of a run is to the others: who has taken over, and what is told of the next.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/supervise/supervised_run.hpp"
#include "runtime/rank/run_ownership.hpp"

namespace dllaunch {

/// Returns what took over from this owner; empty: nothing, or unknown now.
std::string ownership_lost(const RunOwnership& ownership);

/// Whether this Slurm job has finished the run; logs that there is nothing to do.
bool has_finished(System& system, const SupervisedRun& run);

/// Returns what took over the run before its ranks are started; empty: nothing. An orphan of a dead
/// slurmd that took the next fencing token would end its successor. `ownership`: of this
/// supervisor's last start. `started_here`: the ranks were started in this allocation before.
std::string taken_over(System& system, const SupervisedRun& run,
                       const std::optional<RunOwnership>& ownership, bool started_here);

/// Returns the line of events.jsonl that tells why an incarnation follows `before`; empty: none is
/// due. A new job is a new try by the user, and commands have no such file. `told_s`: Unix seconds
/// of the last line of an earlier supervisor.
std::string told_of_restart(System& system, const SupervisedRun& run, const Attempt& before,
                            double told_s, const RunOwnership& ownership);

}  // namespace dllaunch
