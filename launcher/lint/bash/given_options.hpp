// The options of sbatch and srun in a script; values know where they were written.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/text.hpp"
#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch::lint {

/// One option as written.
struct GivenOption : ReadOption {
  Text value = {};
};

struct ParsedOptions {
  std::vector<GivenOption> options = {};
  std::vector<OptionProblem> problems = {};
  std::vector<std::size_t> others = {};  // words that are not options (sbatch)
  std::size_t program = 0;               // srun: the first word after the options
  bool complete = true;                  // false: an unknown word may be any option
};

/// Applies read_slurm_options() to the script's words.
ParsedOptions parse_slurm_options(std::span<const Text> words, SlurmProgram program);

/// The last occurrence of an option, which takes effect; null if not given.
const GivenOption* last_option(const ParsedOptions& parsed, std::string_view name);

}  // namespace dllaunch::lint
