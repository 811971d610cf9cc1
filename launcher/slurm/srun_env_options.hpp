// Variables from which srun reads options where its command line has none. Every job hands on those
// of sbatch, and of the salloc or job it was submitted from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct SrunEnvOption {
  std::string_view variable;
  std::string_view option = {};  // of sbatch, with its dashes, that sets it too
  /// sbatch sets it from lines that every script of ours has, and srun is to read it.
  bool wanted = false;
};

/// Of srun 20.11 to 25.x: what decides where tasks run and what they get (srun(1), INPUT
/// ENVIRONMENT VARIABLES).
std::span<const SrunEnvOption> srun_env_options();

/// The variables a batch script has to unset, lest they contradict its srun line: all but the
/// wanted ones and those that `sbatch`, the script's own options, ask for.
std::vector<std::string_view> contradicting_variables(const std::vector<std::string>& sbatch);

}  // namespace dllaunch
