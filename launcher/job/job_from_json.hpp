// Converts the completed job file to the typed Job.
#pragma once

#include "launcher/job/job.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// `resolved` fits job_schema() and has all its keys; anything else is a bug.
Job job_from_json(Json resolved);

}  // namespace dllaunch
