// One Slurm job for several runs: its script is another dllaunch, which carries them out one after
// another, or side by side, in the job's allocation (`--allocated`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct HeldAllocation {
  LaunchPlan plan = {};                   // says what the job asks for
  std::string name = {};                  // the job's
  std::string dir = {};                   // job.sbatch, job.id and driver.log; absolute
  std::vector<std::string> command = {};  // dllaunch and its arguments
};

/// The time of a job whose command has `minutes` of work: with recovery.grace_seconds before the
/// limit, at which Slurm warns it, and the minute by which that may be early.
std::int64_t held_minutes(std::int64_t minutes, int grace_seconds);

/// What the command says on standard error.
std::string driver_log(const std::string& dir);

/// The job script. Slurm's warning before the time limit becomes a TERM, at which dllaunch stops.
std::string render_held(const HeldAllocation& held);

/// Submits the job, or follows the one that an earlier execution submitted, and shows what the
/// command says until it ends; then why, if the command did not say it. At Ctrl-C the job is
/// cancelled; at SIGHUP it goes on, and so does the job of a dllaunch that is killed. Returns the
/// number of the signal, SIGTERM also if the job ended before the command had done its work; 0:
/// none. Errors as execute_slurm(); bad_request: another process follows it.
Result<int> execute_held(System& system, const HeldAllocation& held);

}  // namespace dllaunch
