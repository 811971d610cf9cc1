// From the checked and completed job file to the typed Job.
#pragma once

#include <nlohmann/json.hpp>

#include "launcher/job/job.hpp"

namespace dllaunch {

/// `resolved` has every key of job_schema() and fits it; anything else is a bug.
Job job_from_json(nlohmann::ordered_json resolved);

}  // namespace dllaunch
