// Resolves the RUN argument of `status`, `logs`, `cancel` and `after:`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "launcher/run/stored_run.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Returns the directory of the run named by `query`: a run directory; its full name
/// (NAME-20261120-101500-3f2a); a job name (the newest run); a Slurm job id or task (74_3); a
/// prefix of exactly one run. bad_request: no match, or a prefix of several, which are named.
Result<std::string> find_run(System& system, const std::string& query);

/// The same for a command that changes nothing. Without `query` the run that was started last,
/// whose name goes to stderr, as do files of it that are not read.
Result<std::string> find_run_to_read(System& system, const std::string& query);

/// The run that a word names where a job file may stand; nullopt: none, or a file has that name.
std::optional<StoredRun> run_named(System& system, const std::string& word);

/// Returns "74" for "74_3"; empty if the text is not a job id.
std::string_view job_of_task(std::string_view query);

}  // namespace dllaunch
