// One Slurm job for several runs: its script is another dllaunch, which carries them out one after
// another, or side by side, in the job's allocation (`--allocated`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/outcome.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct HeldAllocation {
  LaunchPlan plan = {};                   // of the widest run: it says what the job asks for
  std::string name = {};                  // the job's
  std::string dir = {};                   // job.sbatch, job.id and driver.log; absolute
  std::optional<int> nodes = {};          // instead of the plan's
  std::vector<std::string> command = {};  // dllaunch and its arguments
};

/// What the command says on standard error.
std::string driver_log(const std::string& dir);

/// The job script. Slurm's warning before the time limit becomes a TERM, at which dllaunch stops.
std::string render_held(const HeldAllocation& held);

/// Submits the job, or follows the one that an earlier execution submitted, and shows what the
/// command says until it ends. At Ctrl-C the job is cancelled; at SIGHUP it goes on, and so does
/// the job of a dllaunch that is killed. Errors as execute_slurm(); bad_request: another process
/// follows it.
Result<Outcome> execute_held(System& system, const HeldAllocation& held);

}  // namespace dllaunch
