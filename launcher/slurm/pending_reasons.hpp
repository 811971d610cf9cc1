// Why Slurm lets a job wait, in words.
#pragma once

#include <string>

namespace dllaunch {

/// "Priority" -> "jobs with higher priority are ahead (Priority)". One that is not known comes as
/// it is.
std::string explain_reason(const std::string& reason);

}  // namespace dllaunch
