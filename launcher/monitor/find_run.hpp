// RUN of `status`, `logs`, `cancel` and `after:`, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The directory of the run that `query` mean: a run directory; the whole name of one
/// (NAME-20261120-101500-3f2a); a job's name, of which the newest run is taken; a Slurm job id, of
/// a job's task as well (74_3); a prefix that only one run has. bad_request: none, or a prefix of
/// several, which are named.
Result<std::string> find_run(System& system, const std::string& query);

/// "NAME" of "NAME-20261120-101500-3f2a"; the text itself where it has no such end.
std::string_view name_in_run(std::string_view folder_name);

/// "74" of "74_3"; empty where the text is no job id.
std::string_view job_of_task(std::string_view query);

}  // namespace dllaunch
