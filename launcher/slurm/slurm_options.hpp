// Every option of sbatch, srun and salloc, and how getopt_long reads them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct SlurmRequest;

/// Each is a bit of SlurmOption::programs.
enum class SlurmProgram : unsigned char { sbatch = 1, srun = 2, salloc = 4 };
enum class OptionArgument { none, required, optional };

/// The form of a value that every Slurm refuses if it is another.
enum class OptionValue { text, count, nodes, time, memory, gpus, signal, open_mode };

/// What a directive becomes in a job file.
enum class InJobFile {
  extra,    // an entry of sbatch_extra
  key,      // the key of `resources` in SlurmOption::what
  counted,  // a part of the request, or a key elsewhere
  dropped,  // nothing, for the reason in SlurmOption::what
};

/// What becomes of the variable that gives a program an option.
enum class VariableFate {
  none,       // the option has no variable
  adopted,    // sbatch's: an option of the job, if nothing else decides the same
  refused,    // sbatch's: the job file alone decides this; submitted without it, with a message
  removed,    // sbatch's: submitted without it, without a message: it changes no option of the job
  unset,      // srun's: unset in the script
  inherited,  // srun's: unset in the script, unless sbatch sets it from the script's own option
  kept,       // srun's: Slurm sets it in the batch job for srun
};

/// Versions of Slurm: 22.05 is 2205.
constexpr int oldest_slurm = 2205;
constexpr int newest_slurm = 2605;
/// Stands for a version that is not known: what any of them takes.
constexpr int any_slurm = 0;

struct SlurmOption {
  std::string_view name;  // "ntasks-per-node"
  char letter = '\0';
  OptionArgument argument = OptionArgument::required;
  unsigned programs = 7;
  OptionValue value = OptionValue::text;
  long SlurmRequest::*field = nullptr;  // of the request, if it is a number of it
  InJobFile in_job_file = InJobFile::extra;
  std::string_view what = {};
  VariableFate sbatch_fate = VariableFate::none;
  VariableFate srun_fate = VariableFate::none;
  std::string_view sbatch_variable = {};  // where it is not SBATCH_ and the name
  std::string_view srun_variable = {};    // where it is not SLURM_ and the name
  std::string_view full = {};             // the option of which this is another spelling
  int first = oldest_slurm;
  int last = newest_slurm;
  bool plugin = false;  // of a plugin that sites install: enroot/pyxis, EAR

  // A row of the table reads as a sentence.
  constexpr SlurmOption only(unsigned in) const { return with(&SlurmOption::programs, in); }
  constexpr SlurmOption takes(OptionValue form) const { return with(&SlurmOption::value, form); }
  constexpr SlurmOption means(std::string_view of) const { return with(&SlurmOption::full, of); }
  constexpr SlurmOption since(int version) const { return with(&SlurmOption::first, version); }
  constexpr SlurmOption until(int version) const { return with(&SlurmOption::last, version); }
  constexpr SlurmOption of_plugin() const { return only(3).with(&SlurmOption::plugin, true); }
  constexpr SlurmOption becomes(InJobFile fate, std::string_view text = {}) const {
    return with(&SlurmOption::in_job_file, fate).with(&SlurmOption::what, text);
  }
  constexpr SlurmOption key(std::string_view text) const { return becomes(InJobFile::key, text); }
  constexpr SlurmOption asks(long SlurmRequest::*number,
                             OptionValue form = OptionValue::count) const {
    return takes(form).with(&SlurmOption::field, number).becomes(InJobFile::counted);
  }
  constexpr SlurmOption sbatch(VariableFate fate, std::string_view variable = {}) const {
    return with(&SlurmOption::sbatch_fate, fate).with(&SlurmOption::sbatch_variable, variable);
  }
  constexpr SlurmOption srun(VariableFate fate, std::string_view variable = {}) const {
    return with(&SlurmOption::srun_fate, fate).with(&SlurmOption::srun_variable, variable);
  }

  constexpr bool serves(SlurmProgram program, int version = any_slurm) const {
    return (programs & static_cast<unsigned>(program)) != 0 &&
           (version == any_slurm || (first <= version && version <= last && !plugin));
  }

 private:
  template <typename Value>
  constexpr SlurmOption with(Value SlurmOption::*member, Value to) const {
    SlurmOption changed = *this;
    changed.*member = to;
    return changed;
  }
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

/// sbatch accepts options anywhere in its directives; those of srun and salloc end at the first
/// word that is none.
ReadOptions read_slurm_options(std::span<const std::string_view> words, SlurmProgram program,
                               int version = any_slurm);

/// The text of an option's value; empty if it has none. `words` are those that were parsed.
std::string_view value_of(const ReadOption& option, std::span<const std::string_view> words);

/// The known option that an unknown one means, or the closest one, with its dashes; empty: none is
/// close.
std::string nearest_slurm_option(std::string_view typed, SlurmProgram program);

/// Why Slurm refuses the value of a long option: "is not a time: ..."; empty if it accepts the
/// value or only the cluster can tell.
std::string fault_of_value(std::string_view option, std::string_view value);

/// Two options that Slurm refuses together.
struct ExclusiveOptions {
  std::string_view one;
  std::string_view other;
  int since = oldest_slurm;
};
std::span<const ExclusiveOptions> exclusive_options();
/// Whether a value of these options meets the other of the pair: only the GPUs of --gres, only the
/// CPUs of --tres-per-task beside --cpus-per-gpu.
bool excludes(const ExclusiveOptions& pair, std::string_view one_value,
              std::string_view other_value);

/// Whether a rank that is started with the option cannot see the other GPUs of its node.
bool hides_gpus(std::string_view option, std::string_view value);

}  // namespace dllaunch
