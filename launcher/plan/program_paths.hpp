// Paths of this program, its trainer and the current folder.
#pragma once

#include <string>

#include "launcher/plan/plan.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// `dltrain` is the one beside this program. `run_dir` is made absolute but not created.
/// unavailable: /proc or the current folder cannot be read.
Result<Paths> program_paths(const std::string& run_dir);

}  // namespace dllaunch
