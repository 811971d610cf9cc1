// Keys of the job file's `runtime:` block.
#pragma once

#include <vector>

#include "launcher/job/job_keys.hpp"

namespace dllaunch {

std::vector<JobKey> runtime_keys();
std::vector<JobKey> integrity_keys();

}  // namespace dllaunch
