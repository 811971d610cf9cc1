// The options of sbatch and srun, and how getopt_long reads them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

enum class SlurmProgram { sbatch, srun };
enum class OptionArgument { none, required, optional };

/// Slurm 20.11 to 25.05, including options of common plugins.
struct SlurmOption {
  std::string_view name;  // "ntasks-per-node"
  char letter = '\0';
  OptionArgument argument = OptionArgument::required;
  bool sbatch = true;
  bool srun = true;
};

std::span<const SlurmOption> slurm_options();
const SlurmOption* find_slurm_option(std::string_view name, SlurmProgram program);

/// One option as it appears in a list of words.
struct ReadOption {
  std::string name = {};  // the full long name
  bool has_value = false;
  std::size_t word = 0;       // index into the words
  std::size_t last_word = 0;  // differs from `word` if the value is a separate word
  std::size_t at = 0;         // byte offset in `word` (-vN2)
  std::size_t value_at = 0;   // byte offset of the value in `last_word`
};

enum class Complaint { unknown, ambiguous, lacks_value, takes_no_value };

struct OptionProblem {
  Complaint complaint = Complaint::unknown;
  std::string option = {};  // as typed, without its value: "--gpus-per-nodes", "-y"
  std::size_t word = 0;
};

struct ReadOptions {
  std::vector<ReadOption> options = {};
  std::vector<OptionProblem> problems = {};
  std::vector<std::size_t> others = {};  // words that are not options (sbatch)
  std::size_t program = 0;               // srun: the first word after the options
  bool complete = true;                  // false: an unknown word may be any option
};

/// Stands for an unknown part of a word.
constexpr char unknown_piece = '\0';

/// sbatch accepts options anywhere in its directives; srun's end at the first non-option.
ReadOptions read_slurm_options(std::span<const std::string_view> words, SlurmProgram program);

/// The text of an option's value; empty if it has none. `words` are those that were parsed.
std::string_view value_of(const ReadOption& option, std::span<const std::string_view> words);

/// The closest known option to an unknown one, with its dashes; empty: none is close.
std::string nearest_slurm_option(std::string_view typed, SlurmProgram program);

}  // namespace dllaunch
