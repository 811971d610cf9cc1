// Where a run was submitted. Its program, its data set and all other relative paths of its job file
// are found from there, so every continuation takes place there too.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Returns the current folder of the first `dllaunch run` of the run in `dir`, or of the runs of
/// the study or sweep in `dir`; nullopt: there is no run yet, or an older version did not record
/// it.
std::optional<std::string> submit_folder(System& system, const std::string& dir);

/// Makes that folder the current one, after making `dir` and `job_file` absolute, which were typed
/// in another one. bad_request: it is missing. A job file from outside `dir` says where the job is
/// now: if the folder is missing, the run then continues in the current one.
Result<Ok> enter_submit_folder(System& system, std::string& dir, std::string& job_file);

}  // namespace dllaunch
