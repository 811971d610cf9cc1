// `after:`: resolves the runs and jobs that a new job waits for to Slurm job ids.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct Dependencies {
  std::vector<std::string> jobs;   // for --dependency=afterok
  std::vector<std::string> notes;  // what was left out and why
};

/// Each entry is a run (see find_run()) or a job id. Entries that have succeeded are left out:
/// Slurm may have forgotten them, and would refuse or wait forever. bad_request: an entry that
/// failed, runs without Slurm, or is unknown; the error names it. unavailable: Slurm does not
/// respond.
Result<Dependencies> resolve_dependencies(System& system, const std::vector<std::string>& after);

}  // namespace dllaunch
