// "~/venv" in a job file: a shell would never see it, for scripts quote what users write. Pure.
#pragma once

#include <string>

#include "launcher/job/job.hpp"

namespace dllaunch {

/// The job with `home` in place of a leading "~" where a key names a path: activate, the
/// container's image and mounts, stage, train.dataset.path. "~name" and `run:` stay as they are.
Job expand_tilde(Job job, const std::string& home);

}  // namespace dllaunch
