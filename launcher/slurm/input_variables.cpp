#include "launcher/slurm/input_variables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "launcher/base/shell_quote.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/slurm_options.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

using enum VariableFate;

struct Variable {
  std::string name;
  std::string option;  // with its dashes; empty: none that is the job's
  VariableFate fate;
};

/// Of sbatch and srun 20.11 to 26.05, from their manuals, INPUT ENVIRONMENT VARIABLES: those beside
/// the variables that options have for themselves. One that an older Slurm does not read does no
/// harm.
std::vector<Variable> further_variables() {
  return {
      {"SBATCH_DEBUG", "", removed},
      {"SBATCH_IGNORE_PBS", "", removed},
      {"SBATCH_WAIT4SWITCH", "", removed},
      {"SLURM_CLUSTERS", "--clusters", adopted},
      {"SLURM_EXIT_ERROR", "", removed},
      {"SLURM_HINT", "--hint", refused},
      {"SLURM_UMASK", "", removed},
      // Set in every job and step; sbatch hands them on, and the new job may have none of its own.
      {"SLURM_ARBITRARY_NODELIST", "", removed},
      {"SLURM_ARRAY_JOB_ID", "", removed},
      {"SLURM_ARRAY_TASK_COUNT", "", removed},
      {"SLURM_ARRAY_TASK_ID", "", removed},
      {"SLURM_ARRAY_TASK_MAX", "", removed},
      {"SLURM_ARRAY_TASK_MIN", "", removed},
      {"SLURM_ARRAY_TASK_STEP", "", removed},
      {"SLURM_GET_USER_ENV", "", removed},
      {"SLURM_GPUS_ON_NODE", "", removed},
      {"SLURM_JOB_GPUS", "", removed},
      {"SLURM_MEM_PER_NODE", "", removed},
      {"SLURM_NPROCS", "", removed},
      {"SLURM_NTASKS", "", removed},
      {"SLURM_RESTART_COUNT", "", removed},
      {"SLURM_STEPID", "", removed},
      {"SLURM_STEP_GPUS", "", removed},
      {"SLURM_STEP_ID", "", removed},
      {"SLURM_STEP_NODELIST", "", removed},
      {"SLURM_STEP_NUM_NODES", "", removed},
      {"SLURM_STEP_NUM_TASKS", "", removed},
      {"SLURM_STEP_TASKS_PER_NODE", "", removed},
      // srun's.
      {"SLURM_ARBITRARY_NODELIST", "", unset},
      {"SLURM_CPU_BIND_LIST", "", unset},
      {"SLURM_CPU_BIND_TYPE", "", unset},
      {"SLURM_CPU_BIND_VERBOSE", "", unset},
      {"SLURM_DEBUG_FLAGS", "", unset},
      {"SLURM_DIST_PLANESIZE", "--distribution", inherited},
      {"SLURM_EXIT_ERROR", "", unset},
      {"SLURM_EXIT_IMMEDIATE", "", unset},
      {"SLURM_IMMEDIATE", "", unset},
      {"SLURM_MEM_BIND_LIST", "--mem-bind", inherited},
      {"SLURM_MEM_BIND_PREFER", "--mem-bind", inherited},
      {"SLURM_MEM_BIND_SORT", "--mem-bind", inherited},
      {"SLURM_MEM_BIND_TYPE", "--mem-bind", inherited},
      {"SLURM_MEM_BIND_VERBOSE", "--mem-bind", inherited},
      {"SLURM_NPROCS", "", kept},
      {"SLURM_REQ_SWITCH", "", unset},
      {"SLURM_SRUN_REDUCE_TASK_EXIT_MSG", "", unset},
      {"SLURM_STEP_GRES", "", unset},
      {"SLURM_STEP_KILLED_MSG_NODE_ID", "", unset},
      {"SLURM_TEST_EXEC", "", unset},
      {"SLURM_WAIT4SWITCH", "", unset},
      {"SLURM_WORKING_DIR", "", unset},
      {"SRUN_CPUS_PER_TASK", "", unset},
      {"SRUN_ERROR", "", unset},
      {"SRUN_EXPORT_ENV", "", unset},
      {"SRUN_INPUT", "", unset},
      {"SRUN_OUTPUT", "", unset},
  };
}

/// The variable's own name, or the option's in capitals behind a prefix.
std::string variable_of(std::string_view own, std::string_view prefix, std::string_view option) {
  if (!own.empty()) return std::string(own);
  std::string name(option);
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c - ('a' - 'A'));
  return name.insert(0, prefix);
}

/// Every variable, in the order of their names.
const std::vector<Variable>& table() {
  static const std::vector<Variable> all = [] {
    auto rows = further_variables();
    for (const auto& option : slurm_options()) {
      const auto word = "--" + std::string(option.name);
      if (option.sbatch_fate != none)
        rows.push_back({variable_of(option.sbatch_variable, "SBATCH_", option.name), word,
                        option.sbatch_fate});
      if (option.srun_fate != none)
        rows.push_back(
            {variable_of(option.srun_variable, "SLURM_", option.name), word, option.srun_fate});
    }
    std::ranges::stable_sort(rows, {}, &Variable::name);
    return rows;
  }();
  return all;
}

bool is_of_sbatch(const Variable& variable) {
  return variable.fate == adopted || variable.fate == refused || variable.fate == removed;
}

const Variable* sbatch_variable(std::string_view name) {
  const auto found = std::ranges::find_if(
      table(), [&](const Variable& row) { return row.name == name && is_of_sbatch(row); });
  return found == table().end() ? nullptr : &*found;
}

/// The option as sbatch would take it from the variable. nullopt: it takes none, since a variable
/// of an option without a value turns that on with nothing, "yes" or a number but 0.
std::optional<std::string> word_of(const Variable& variable, const std::string& value) {
  if (variable.option.empty()) return std::nullopt;
  const auto* known =
      find_slurm_option(std::string_view(variable.option).substr(2), SlurmProgram::sbatch);
  const auto takes = known == nullptr ? OptionArgument::required : known->argument;
  if (takes == OptionArgument::required && value.empty()) return std::nullopt;
  if (takes == OptionArgument::required) return option_word({variable.option, value});
  const bool on = value.empty() || value == "yes" || parse_number<int>(value).value_or(0) != 0;
  if (on) return variable.option;
  if (takes == OptionArgument::none) return std::nullopt;
  return option_word({variable.option, value});
}

/// The option among these that decides the same as the variable, with its full name; empty: none
/// does.
std::string deciding(const std::vector<std::string>& options, const Variable& variable,
                     const std::string& value) {
  if (variable.option.empty()) return {};
  for (const auto& line : options)
    if (const auto option = option_of_line(line);
        option && decide_the_same(option->first, variable.option, value))
      return option_word(*option);
  return {};
}

/// GPUs are the plan's to count.
bool may_adopt(const Variable& variable, const std::string& value) {
  // A line break would be the end of the script's comment.
  const bool is_line = std::ranges::none_of(
      value, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return variable.fate == adopted && is_line &&
         (variable.option != "--gres" || value.find("gpu") == std::string::npos);
}

bool asks_for(const std::vector<std::string>& sbatch, std::string_view option) {
  return std::ranges::any_of(sbatch, [option](const std::string& line) {
    const auto given = option_of_line(line);
    return given ? given->first == option : line.substr(0, line.find_first_of("= ")) == option;
  });
}

}  // namespace

SbatchVariables sbatch_variables(System& system) {
  SbatchVariables found;
  for (const auto& known : table())
    if (is_of_sbatch(known))
      if (auto value = system.environment(known.name))
        found.emplace_back(known.name, *std::move(value));
  return found;
}

std::string_view option_of_variable(std::string_view name) {
  const auto* known = sbatch_variable(name);
  return known == nullptr ? std::string_view() : std::string_view(known->option);
}

std::vector<std::string> adopted_options(const std::vector<std::string>& options,
                                         const SbatchVariables& variables) {
  std::vector<std::string> adopted;
  for (const auto& [name, value] : variables) {
    const auto* known = sbatch_variable(name);
    if (known == nullptr || !may_adopt(*known, value)) continue;
    auto word = word_of(*known, value);
    if (word && deciding(options, *known, value).empty() &&
        deciding(adopted, *known, value).empty())
      adopted.push_back(*std::move(word));
  }
  return adopted;
}

std::vector<std::string> notes_on(const std::vector<std::string>& options,
                                  const SbatchVariables& variables) {
  std::vector<std::string> notes;
  for (const auto& [name, value] : variables) {
    const auto* known = sbatch_variable(name);
    const auto word = known == nullptr ? std::nullopt : word_of(*known, value);
    if (!word) continue;
    const auto ours = deciding(options, *known, value);
    if (ours == *word || (ours.empty() && may_adopt(*known, value))) continue;
    notes.push_back(fmt::format(
        "{}={} is set here, and sbatch would {}: dllaunch submits without it", name, value,
        known->option == "--wait" ? "wait for the job's end"
        : ours.empty() ? fmt::format("add {}, which the job file does not ask for", *word)
                       : "use it instead of " + ours));
  }
  return notes;
}

std::vector<std::string> sbatch_command(const std::vector<std::string>& options,
                                        const SbatchVariables& variables) {
  std::vector<std::string> argv = {"env"};
  for (const auto& [name, value] : variables) {
    const auto* known = sbatch_variable(name);
    if (known == nullptr ||
        (may_adopt(*known, value) && deciding(options, *known, value).empty() && !value.empty()))
      continue;
    argv.insert(argv.end(), {"-u", name});
  }
  if (argv.size() == 1) argv.clear();
  argv.emplace_back("sbatch");
  return argv;
}

namespace {

/// The words of a directive as sbatch reads them.
std::string unquoted(std::string_view line) {
  std::string words;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const auto word = read_directive_word(line, at);
    if (!word.bytes.empty()) words += (words.empty() ? "" : " ") + word.bytes;
    at = word.end;
    if (at < line.size() && line[at] == '#') break;
  }
  return words;
}

}  // namespace

std::vector<std::string> options_of_script(std::string_view script) {
  std::vector<std::string> options;
  while (script.starts_with('#')) {
    const auto line = script.substr(0, script.find('\n'));
    constexpr std::string_view directive = "#SBATCH ";
    if (line.starts_with(directive)) options.push_back(unquoted(line.substr(directive.size())));
    script.remove_prefix(std::min(line.size() + 1, script.size()));
  }
  return options;
}

std::vector<std::string_view> variables_of(SlurmProgram program) {
  std::vector<std::string_view> names;
  for (const auto& known : table())
    if (is_of_sbatch(known) == (program == SlurmProgram::sbatch)) names.emplace_back(known.name);
  return names;
}

std::vector<std::string_view> contradicting_variables(const std::vector<std::string>& sbatch) {
  std::vector<std::string_view> names;
  for (const auto& known : table())
    if (known.fate == unset || (known.fate == inherited && !asks_for(sbatch, known.option)))
      names.emplace_back(known.name);
  return names;
}

}  // namespace dllaunch
