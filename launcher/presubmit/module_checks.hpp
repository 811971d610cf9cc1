// Whether the modules a job names can be loaded, as its batch script will load them.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/presubmit/finding.hpp"

namespace dllaunch {

/// Loads them one after the other in a shell of its own, since one may bring others into reach.
/// Environment Modules and Lmod alike.
CheckFindings check_modules(const std::vector<std::string>& modules, System& system);

}  // namespace dllaunch
