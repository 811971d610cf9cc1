// The options of sbatch and srun, and how getopt_long reads them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/text.hpp"

namespace dllaunch::lint {

enum class SlurmProgram { sbatch, srun };
enum class Argument { none, required, optional };

/// Slurm 20.11 to 25.05, those of common plugins too.
struct SlurmOption {
  std::string_view name;  // "ntasks-per-node"
  char letter = '\0';
  Argument argument = Argument::required;
  bool sbatch = true;
  bool srun = true;
};

std::span<const SlurmOption> slurm_options();
const SlurmOption* find_slurm_option(std::string_view name, SlurmProgram program);

/// One option as somebody wrote it.
struct GivenOption {
  std::string name = {};  // the full long name
  Text value = {};
  bool has_value = false;
  std::size_t word = 0;       // of the words that were read
  std::size_t last_word = 0;  // differs from `word` where the value stands apart
  std::size_t at = 0;         // byte of `word` where the option begins (-vN2)
};

enum class Complaint { unknown, ambiguous, lacks_value, takes_no_value };

struct OptionProblem {
  Complaint complaint = Complaint::unknown;
  std::string option = {};  // as typed, without its value: "--gpus-per-nodes", "-y"
  std::size_t word = 0;
};

struct ParsedOptions {
  std::vector<GivenOption> options = {};
  std::vector<OptionProblem> problems = {};
  std::vector<std::size_t> others = {};  // words that are no options (sbatch)
  std::size_t program = 0;               // srun: the first word behind the options
  bool complete = true;                  // false: a word is unknown and may be any option
};

/// sbatch takes options anywhere in its directives; srun's end at the first other word.
ParsedOptions parse_slurm_options(std::span<const Text> words, SlurmProgram program);

/// What the user most likely meant by an unknown option, with its dashes; empty: nothing near.
std::string nearest_slurm_option(std::string_view typed, SlurmProgram program);

/// The last one counts. Null where it is not given.
const GivenOption* last_option(const ParsedOptions& parsed, std::string_view name);

}  // namespace dllaunch::lint
