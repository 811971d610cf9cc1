// The options of sbatch and srun in a script, with values that know where they were written.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/text.hpp"
#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch::lint {

/// One option as somebody wrote it.
struct GivenOption : ReadOption {
  Text value = {};
};

struct ParsedOptions {
  std::vector<GivenOption> options = {};
  std::vector<OptionProblem> problems = {};
  std::vector<std::size_t> others = {};  // words that are no options (sbatch)
  std::size_t program = 0;               // srun: the first word behind the options
  bool complete = true;                  // false: a word is unknown and may be any option
};

/// read_slurm_options() of the script's words.
ParsedOptions parse_slurm_options(std::span<const Text> words, SlurmProgram program);

/// The last one counts. Null where it is not given.
const GivenOption* last_option(const ParsedOptions& parsed, std::string_view name);

}  // namespace dllaunch::lint
