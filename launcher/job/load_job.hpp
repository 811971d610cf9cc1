// Reads the job file for every command that takes one.
#pragma once

#include <span>
#include <string>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// Reads and parses `path`; logs every problem. bad_request: no such file, a folder, or the number
/// of problems.
Result<Job> load_job(System& system, const std::string& path, std::span<const std::string> sets);

}  // namespace dllaunch
