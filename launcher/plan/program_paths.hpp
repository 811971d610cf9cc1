// Where this program and its trainer lie, and where the user stands.
#pragma once

#include <string>

#include "launcher/plan/plan.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// `dltrain` is the one beside this program. `run_dir` is made absolute; nothing is made.
/// unavailable: /proc or the current folder cannot be read.
Result<Paths> program_paths(const std::string& run_dir);

}  // namespace dllaunch
