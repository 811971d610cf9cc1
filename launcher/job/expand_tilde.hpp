// Expands "~/venv" in a job file: scripts quote user text, so no shell would. Pure.
#pragma once

#include <string>

#include "launcher/job/job.hpp"

namespace dllaunch {

/// The job with a leading "~" replaced by `home` in keys that hold paths: activate, the container's
/// image and mounts, stage, train.dataset.path. Leaves "~name" and `run:` unchanged.
Job expand_tilde(Job job, const std::string& home);

}  // namespace dllaunch
