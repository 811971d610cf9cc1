// The environment variables that sbatch and srun read as options, and what becomes of each.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {

/// "SBATCH_PARTITION" -> "gpu"; variables that are set.
using SbatchVariables = std::vector<std::pair<std::string, std::string>>;

/// The variables of this machine that sbatch would take for options, or hand on to the job where
/// they describe another job: the one that this process runs in.
SbatchVariables sbatch_variables(System& system);

/// The option that a variable sets in sbatch: "--partition" for "SBATCH_PARTITION"; empty if none.
std::string_view option_of_variable(std::string_view name);

/// What sbatch would make of the variables, and a script with these options does not say otherwise:
/// "--wckey=mine". Of resources only the memory of a job that has no option for it.
std::vector<std::string> adopted_options(const std::vector<std::string>& options,
                                         const SbatchVariables& variables);

/// Messages about the variables without which the job is submitted, where that makes a difference.
std::vector<std::string> notes_on(const std::vector<std::string>& options,
                                  const SbatchVariables& variables);

/// "sbatch", prefixed by a command that removes from its environment the variables that would
/// change what a script with these options asks for.
std::vector<std::string> sbatch_command(const std::vector<std::string>& options,
                                        const SbatchVariables& variables);

/// The options in a script's directives: "--partition=gpu" for "#SBATCH --partition=gpu".
std::vector<std::string> options_of_script(std::string_view script);

/// Every variable that the program reads as an option, those that Slurm sets in a job too.
std::vector<std::string_view> variables_of(SlurmProgram program);

/// Of srun's, those that a batch script must unset: all that Slurm does not set for the script
/// itself because of an option of its own. In the order of their names.
std::vector<std::string_view> contradicting_variables(const std::vector<std::string>& sbatch);

}  // namespace dllaunch
