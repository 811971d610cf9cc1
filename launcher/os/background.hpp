// Leaves the terminal for good.
#pragma once

#include <sys/types.h>

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Forks. The child has a session of its own, nothing to read, and writes to `log_path`; it gets 0
/// and goes on. The caller gets the child's pid.
/// unavailable: the log cannot be written, or no process can be made.
Result<pid_t> fork_into_background(const std::string& log_path);

}  // namespace dllaunch
