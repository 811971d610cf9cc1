// Detaches from the terminal.
#pragma once

#include <sys/types.h>

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Forks. Returns 0 in the child, which has its own session, no input, and writes to `log_path`.
/// Returns the child's pid in the parent.
///
/// unavailable: the log cannot be written, or fork failed.
Result<pid_t> fork_into_background(const std::string& log_path);

}  // namespace dllaunch
