// From the checked and completed job file to the typed Job.
#pragma once

#include "launcher/job/job.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// `resolved` has every key of job_schema() and fits it; anything else is a bug.
Job job_from_json(Json resolved);

}  // namespace dllaunch
