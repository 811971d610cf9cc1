// Keys of the job file that a single run does not read.
#pragma once

#include <vector>

#include "launcher/job/job_keys.hpp"

namespace dllaunch {

/// study:, reproducibility: and sweep:
std::vector<JobKey> experiment_keys();

}  // namespace dllaunch
