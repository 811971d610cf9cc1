// `after:`: the runs and jobs a new job waits for, as job ids that Slurm knows.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct Dependencies {
  std::vector<std::string> jobs;   // for --dependency=afterok
  std::vector<std::string> notes;  // what was left out, and why
};

/// Each entry is a run (as find_run() takes it) or a job id. One that has succeeded already is left
/// out; Slurm may have forgotten it, and would refuse or wait for ever.
/// bad_request: one that failed, that runs without Slurm, or that nobody knows; names it.
/// unavailable: Slurm does not answer.
Result<Dependencies> resolve_dependencies(System& system, const std::vector<std::string>& after);

}  // namespace dllaunch
