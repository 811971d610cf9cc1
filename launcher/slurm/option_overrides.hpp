// Applies resources.sbatch_extra and resources.srun_extra to the options that dllaunch writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dllaunch {

/// "--nodes" -> "2"; the value may be empty.
using OptionLines = std::vector<std::pair<std::string, std::string>>;

struct OverriddenOptions {
  OptionLines ours = {};               // those that remain; replaced ones keep their position
  std::vector<std::string> more = {};  // arguments to append
  std::vector<std::string> warnings = {};
};

/// Each extra is one option: "--mail-type=END", "-p gpu", "--exclusive". It replaces the value of
/// the same option in `ours`, or of one that it contradicts (--no-requeue, --requeue); otherwise it
/// is appended. "!--requeue" and "!-p" remove an option.
OverriddenOptions override_sbatch(OptionLines ours, const std::vector<std::string>& extras);

/// The extras are arguments; an option's value may be the next argument. An option replaces the
/// same option in `ours`; "!--mpi" removes it.
OverriddenOptions override_srun(OptionLines ours, const std::vector<std::string>& extras);

/// The single option on a line, with its full name: ("--partition", "gpu") for "-p gpu". nullopt if
/// the line has several options, or an unknown one.
std::optional<std::pair<std::string, std::string>> option_of_line(const std::string& line);

/// Whether Slurm refuses or ignores `b` after `a`, as --no-requeue after --requeue.
bool decide_the_same(std::string_view a, std::string_view b, std::string_view b_value);

/// "--nodes=2", "--exclusive"
std::string option_word(const std::pair<std::string, std::string>& option);

}  // namespace dllaunch
