// Ends what ranks leave behind: a data loader's worker or a helper that left its rank's session
// outlives it, and keeps GPU memory, ports and locks. Slurm ends such processes where it keeps
// steps in cgroups (ProctrackType), and has lost them elsewhere.
//
// Every rank of a supervised Slurm job carries a mark that its descendants inherit
// (launcher/os/descent_mark.hpp). No other process has it, so no other is ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

/// One start of a run's ranks in a Slurm job.
struct StartMark {
  std::uint64_t of_run = 0;  // of the first start; those of later ones are higher
  std::uint64_t own = 0;
};

/// nullopt: not started by a supervisor in a Slurm job.
std::optional<StartMark> start_mark(const std::string& run_dir, const EnvLookup& lookup);

/// Kills what earlier starts left on this machine, and waits until it is gone. Returns what it was,
/// such as "1 process of an earlier start: python3 (4711)"; empty: nothing.
std::string end_earlier_starts(const StartMark& mark);

/// Starts a process that waits until the parent of this one, Slurm's daemon of the step, has ended,
/// and then ends what the start left on this machine. It reports to this process's standard error
/// if that is a file.
void end_leftovers_after_step(const StartMark& mark, const std::string& host);

}  // namespace dllaunch
