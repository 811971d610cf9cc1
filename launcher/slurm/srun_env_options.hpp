// Environment variables that srun reads as options. Every job inherits those that sbatch sets, and
// those of the salloc or job it was submitted from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct SrunEnvOption {
  std::string_view variable;
  std::string_view option = {};  // sbatch option that sets the variable too
  /// sbatch sets it from options that every generated script has, and srun should read it.
  bool wanted = false;
};

/// Of srun 20.11 to 25.x: those that affect where tasks run and what resources they get (srun(1),
/// INPUT ENVIRONMENT VARIABLES).
std::span<const SrunEnvOption> srun_env_options();

/// The variables that a batch script must unset so that they do not contradict its srun line: all
/// except the wanted ones and those set by `sbatch`, the script's own options.
std::vector<std::string_view> contradicting_variables(const std::vector<std::string>& sbatch);

}  // namespace dllaunch
