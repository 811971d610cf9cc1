// Checks that the job's modules load, the way its batch script loads them.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/presubmit/finding.hpp"

namespace dllaunch {

/// Loads them in order in a separate shell, since one may make others available. Supports
/// Environment Modules and Lmod.
CheckFindings check_modules(const std::vector<std::string>& modules, System& system);

}  // namespace dllaunch
