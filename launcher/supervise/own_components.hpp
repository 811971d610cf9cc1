// In the script of a heterogeneous job: starts the components' scripts and ends them together.
#pragma once

#include <string>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// `files`: where the components' scripts are, if others can replace RUN (kept_files.hpp).
/// Returns the batch script's exit code when all components have ended: that of the one that ended
/// the job, and 0 if it had completed. Writes into RUN/supervisor.jsonl why. bad_request: RUN holds
/// no modular run, or this is not its job. unavailable: a script cannot be started.
Result<int> own_components(System& system, const std::string& run_dir, const std::string& files);

}  // namespace dllaunch
