// Reads the job file for every command that takes one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// Reads and parses `path`; logs every problem. bad_request: no such file, a folder, or the number
/// of problems.
Result<Job> load_any_job(System& system, const std::string& path,
                         std::span<const std::string> sets);
/// The same for those that know no components: a modular job is a bad_request.
Result<Job> load_job(System& system, const std::string& path, std::span<const std::string> sets);

/// A modular job; nullopt: an ordinary one, or one with problems, which load_job() tells.
std::optional<Job> modular_job(System& system, const std::string& path,
                               std::span<const std::string> sets);

/// Whether a text is a script for sbatch, which looks for directives only in a file with a shebang.
bool is_sbatch_script(std::string_view text);

}  // namespace dllaunch
