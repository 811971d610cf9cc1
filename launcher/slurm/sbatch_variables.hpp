// The environment variables that sbatch reads, and which script options they override.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// "SBATCH_PARTITION" -> "gpu"; variables that are set.
using SbatchVariables = std::vector<std::pair<std::string, std::string>>;

/// The variables set on this machine that affect a key of the job file, or an option that every
/// generated script has.
SbatchVariables sbatch_variables(System& system);

/// The option that a variable sets: "--partition" for "SBATCH_PARTITION"; empty for variables that
/// sbatch_variables() does not return.
std::string_view option_of_variable(std::string_view name);

/// A variable that would override one of these sbatch options, since variables take precedence over
/// a script's directives; and that option.
struct Overriding {
  std::string variable = {};
  std::string value = {};
  std::string option = {};  // "--partition=gpu"; empty: affects submission, not an option
};
std::vector<Overriding> overriding(const std::vector<std::string>& options,
                                   const SbatchVariables& variables);

/// Messages about the variables that are ignored, where that makes a difference.
std::vector<std::string> notes_on(const std::vector<Overriding>& variables);

/// "sbatch", prefixed by a command that removes these variables from its environment.
std::vector<std::string> sbatch_without(const std::vector<Overriding>& variables);

/// The options in a script's directives: "--partition=gpu" for "#SBATCH --partition=gpu".
std::vector<std::string> options_of_script(std::string_view script);

}  // namespace dllaunch
