// templates/job.sbatch.mustache, as it was when this program was built.
#pragma once

#include <string_view>

namespace dllaunch {

std::string_view job_sbatch_template();

}  // namespace dllaunch
