// How every command that takes a job file reads it.
#pragma once

#include <span>
#include <string>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// Reads and parses `path`; the problems in it are noted on stderr, all of them, one after the
/// other. bad_request: no such file, a folder, or how many problems it has.
Result<Job> load_job(System& system, const std::string& path, std::span<const std::string> sets);

}  // namespace dllaunch
