// What resources.sbatch_extra and resources.srun_extra do to the options that dllaunch writes.
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
  OptionLines ours = {};               // what is left of ours, replaced ones in their old place
  std::vector<std::string> more = {};  // arguments to add behind them
  std::vector<std::string> warnings = {};
};

/// One extra is one option: "--mail-type=END", "-p gpu", "--exclusive". Where dllaunch writes that
/// option, or one that decides the same (--no-requeue for --requeue), its line gets the new value;
/// else it is added. "!--requeue" and "!-p" take a line out.
OverriddenOptions override_sbatch(OptionLines ours, const std::vector<std::string>& extras);

/// The extras are arguments, an option's value may be the next one. An option among them takes the
/// place of ours; "!--mpi" takes ours out.
OverriddenOptions override_srun(OptionLines ours, const std::vector<std::string>& extras);

/// The one option that a line is, with its full name: ("--partition", "gpu") of "-p gpu". Nothing
/// where it is several, or none that we know.
std::optional<std::pair<std::string, std::string>> option_of_line(const std::string& line);

/// Whether of `a` and `b` Slurm refuses or ignores the second: --requeue and --no-requeue, ...
bool decide_the_same(std::string_view a, std::string_view b, std::string_view b_value);

/// "--nodes=2", "--exclusive"
std::string option_word(const std::pair<std::string, std::string>& option);

}  // namespace dllaunch
