// templates/*.sbatch.mustache, embedded at build time.
#pragma once

#include <string_view>

namespace dllaunch {

std::string_view job_sbatch_template();
std::string_view components_sbatch_template();
std::string_view plain_sbatch_template();
/// A part of the others.
std::string_view environment_template();

}  // namespace dllaunch
