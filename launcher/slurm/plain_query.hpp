// Asks Slurm without the user's settings, so that what it lists can be read.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// A command of Slurm that lists something, prefixed by one that removes the variables of the
/// environment that change what it lists, and how: SLURM_TIME_FORMAT, SQUEUE_STATES and so on.
std::vector<std::string> plain_query(System& system, const std::vector<std::string>& argv);

}  // namespace dllaunch
