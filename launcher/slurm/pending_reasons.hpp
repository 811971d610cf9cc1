// Slurm's pending reasons as sentences.
#pragma once

#include <string>

namespace dllaunch {

/// "Priority" -> "jobs with higher priority are ahead (Priority)". Returns an unknown reason
/// unchanged.
std::string explain_reason(const std::string& reason);

}  // namespace dllaunch
