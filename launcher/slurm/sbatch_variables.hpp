// The variables that sbatch reads, and which options of a script they would override.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// "SBATCH_PARTITION" -> "gpu", those that are set.
using SbatchVariables = std::vector<std::pair<std::string, std::string>>;

/// The variables of this machine that decide what a key of the job file or a line of every script
/// of ours decides too.
SbatchVariables sbatch_variables(System& system);

/// The option that a variable sets, "--partition" of "SBATCH_PARTITION"; empty: none that
/// sbatch_variables() returns.
std::string_view option_of_variable(std::string_view name);

/// Variables that would change what these options of sbatch say: it lets them count before the
/// lines of a script. With the option each is up against.
struct Overriding {
  std::string variable = {};
  std::string value = {};
  std::string option = {};  // "--partition=gpu"; empty: no line, but our way to submit
};
std::vector<Overriding> overriding(const std::vector<std::string>& options,
                                   const SbatchVariables& variables);

/// For people, where it makes a difference: which of them do not count.
std::vector<std::string> notes_on(const std::vector<Overriding>& variables);

/// "sbatch", in front of it what takes these variables out of its environment.
std::vector<std::string> sbatch_without(const std::vector<Overriding>& variables);

/// The options in the head of a script, "--partition=gpu" of "#SBATCH --partition=gpu".
std::vector<std::string> options_of_script(std::string_view script);

}  // namespace dllaunch
