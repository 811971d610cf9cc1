#include "launcher/slurm/input_variables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "launcher/base/shell_quote.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

enum class Fate {
  adopted,    // sbatch's: an option of the job, if nothing else decides the same
  refused,    // sbatch's: the job file alone decides this; submitted without it, with a message
  removed,    // sbatch's: submitted without it, without a message: it changes no option of the job
  unset,      // srun's: unset in the script
  inherited,  // srun's: unset in the script, unless sbatch sets it from the script's own option
  kept,       // srun's: Slurm sets it in the batch job for srun
};

struct Variable {
  std::string_view name;
  std::string_view option;
  Fate fate;
};

using enum Fate;

// From the tables of options in sbatch and srun 20.11 to 26.05 and their manuals, INPUT ENVIRONMENT
// VARIABLES. A variable that an older Slurm does not read does no harm.
constexpr Variable table[] = {
    {"SBATCH_ACCOUNT", "--account", adopted},
    {"SBATCH_ACCTG_FREQ", "--acctg-freq", adopted},
    {"SBATCH_ARRAY_INX", "--array", refused},
    {"SBATCH_BATCH", "--batch", adopted},
    {"SBATCH_BURST_BUFFER", "--bb", adopted},
    {"SBATCH_CLUSTERS", "--clusters", refused},
    {"SBATCH_CLUSTER_CONSTRAINT", "--cluster-constraint", adopted},
    {"SBATCH_CONSOLIDATE_SEGMENTS", "--consolidate-segments", refused},
    {"SBATCH_CONSTRAINT", "--constraint", adopted},
    {"SBATCH_CONTAINER", "--container", refused},
    {"SBATCH_CONTAINER_ID", "--container-id", refused},
    {"SBATCH_CONTAINER_TYPE", "--container-type", refused},
    {"SBATCH_CORE_SPEC", "--core-spec", refused},
    {"SBATCH_CPUS_PER_GPU", "--cpus-per-gpu", refused},
    {"SBATCH_CPU_FREQ_REQ", "--cpu-freq", adopted},
    {"SBATCH_DEBUG", "", removed},
    {"SBATCH_DELAY_BOOT", "--delay-boot", adopted},
    {"SBATCH_DISTRIBUTION", "--distribution", refused},
    {"SBATCH_ERROR", "--error", refused},
    {"SBATCH_EXCLUSIVE", "--exclusive", refused},
    {"SBATCH_EXPORT", "--export", adopted},
    {"SBATCH_GET_USER_ENV", "--get-user-env", refused},
    {"SBATCH_GPUS", "--gpus", refused},
    {"SBATCH_GPUS_PER_NODE", "--gpus-per-node", refused},
    {"SBATCH_GPUS_PER_SOCKET", "--gpus-per-socket", refused},
    {"SBATCH_GPUS_PER_TASK", "--gpus-per-task", refused},
    {"SBATCH_GPU_BIND", "--gpu-bind", refused},
    {"SBATCH_GPU_FREQ", "--gpu-freq", adopted},
    {"SBATCH_GRES", "--gres", adopted},
    {"SBATCH_GRES_FLAGS", "--gres-flags", refused},
    {"SBATCH_HINT", "--hint", refused},
    {"SBATCH_IGNORE_PBS", "", removed},
    {"SBATCH_INPUT", "--input", refused},
    {"SBATCH_JOB_NAME", "--job-name", refused},
    {"SBATCH_MEM_BIND", "--mem-bind", refused},
    {"SBATCH_MEM_PER_CPU", "--mem-per-cpu", adopted},
    {"SBATCH_MEM_PER_GPU", "--mem-per-gpu", adopted},
    {"SBATCH_MEM_PER_NODE", "--mem", adopted},
    {"SBATCH_NETWORK", "--network", adopted},
    {"SBATCH_NO_KILL", "--no-kill", refused},
    {"SBATCH_NO_REQUEUE", "--no-requeue", refused},
    {"SBATCH_OPEN_MODE", "--open-mode", refused},
    {"SBATCH_OUTPUT", "--output", refused},
    {"SBATCH_OVERCOMMIT", "--overcommit", refused},
    {"SBATCH_PARTITION", "--partition", adopted},
    {"SBATCH_POWER", "--power", adopted},
    {"SBATCH_PROFILE", "--profile", adopted},
    {"SBATCH_QOS", "--qos", adopted},
    {"SBATCH_REQUEUE", "--requeue", refused},
    {"SBATCH_REQ_SWITCH", "--switches", adopted},
    {"SBATCH_RESERVATION", "--reservation", adopted},
    {"SBATCH_SEGMENT_SIZE", "--segment", refused},
    {"SBATCH_SIGNAL", "--signal", refused},
    {"SBATCH_SPREAD_JOB", "--spread-job", refused},
    {"SBATCH_SPREAD_SEGMENTS", "--spread-segments", refused},
    {"SBATCH_THREADS_PER_CORE", "--threads-per-core", refused},
    {"SBATCH_THREAD_SPEC", "--thread-spec", refused},
    {"SBATCH_TIMELIMIT", "--time", adopted},
    {"SBATCH_TRES_BIND", "--tres-bind", refused},
    {"SBATCH_TRES_PER_TASK", "--tres-per-task", refused},
    {"SBATCH_USE_MIN_NODES", "--use-min-nodes", refused},
    {"SBATCH_WAIT", "--wait", refused},
    {"SBATCH_WAIT4SWITCH", "", removed},
    {"SBATCH_WAIT_ALL_NODES", "--wait-all-nodes", refused},
    {"SBATCH_WCKEY", "--wckey", adopted},
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
    {"SLURMD_DEBUG", "", unset},
    {"SLURM_ACCOUNT", "", unset},
    {"SLURM_ACCTG_FREQ", "--acctg-freq", inherited},
    {"SLURM_ARBITRARY_NODELIST", "", unset},
    {"SLURM_BCAST", "", unset},
    {"SLURM_BCAST_EXCLUDE", "", unset},
    {"SLURM_BURST_BUFFER", "", unset},
    {"SLURM_CLUSTERS", "", unset},
    {"SLURM_CLUSTER_CONSTRAINT", "", unset},
    {"SLURM_COMPRESS", "", unset},
    {"SLURM_CONSOLIDATE_SEGMENTS", "", unset},
    {"SLURM_CONSTRAINT", "", unset},
    {"SLURM_CORE_SPEC", "", unset},
    // srun's line has its own --cpus-per-task and --cpu-bind.
    {"SLURM_CPUS_PER_GPU", "--cpus-per-gpu", inherited},
    {"SLURM_CPUS_PER_TASK", "", unset},
    {"SLURM_CPU_BIND", "", unset},
    {"SLURM_CPU_BIND_LIST", "", unset},
    {"SLURM_CPU_BIND_TYPE", "", unset},
    {"SLURM_CPU_BIND_VERBOSE", "", unset},
    {"SLURM_CPU_FREQ_REQ", "--cpu-freq", inherited},
    {"SLURM_DEBUG", "", unset},
    {"SLURM_DEBUG_FLAGS", "", unset},
    {"SLURM_DELAY_BOOT", "", unset},
    {"SLURM_DEPENDENCY", "", unset},
    {"SLURM_DISABLE_STATUS", "", unset},
    {"SLURM_DISTRIBUTION", "--distribution", inherited},
    {"SLURM_DIST_PLANESIZE", "--distribution", inherited},
    {"SLURM_EPILOG", "", unset},
    {"SLURM_EXACT", "", unset},
    {"SLURM_EXCLUSIVE", "", unset},
    {"SLURM_EXIT_ERROR", "", unset},
    {"SLURM_EXIT_IMMEDIATE", "", unset},
    {"SLURM_EXPORT_ENV", "", unset},
    {"SLURM_EXTERNAL_LAUNCHER", "", unset},
    {"SLURM_GPUS", "--gpus", inherited},
    {"SLURM_GPUS_PER_NODE", "--gpus-per-node", inherited},
    {"SLURM_GPUS_PER_SOCKET", "--gpus-per-socket", inherited},
    {"SLURM_GPUS_PER_TASK", "--gpus-per-task", inherited},
    {"SLURM_GPU_BIND", "--gpu-bind", inherited},
    {"SLURM_GPU_FREQ", "--gpu-freq", inherited},
    {"SLURM_GRES", "", unset},
    {"SLURM_GRES_FLAGS", "", unset},
    {"SLURM_HINT", "--hint", inherited},
    {"SLURM_IMMEDIATE", "", unset},
    {"SLURM_KILL_BAD_EXIT", "", unset},
    {"SLURM_LABELIO", "", unset},
    {"SLURM_MEM_BIND", "--mem-bind", inherited},
    {"SLURM_MEM_BIND_LIST", "--mem-bind", inherited},
    {"SLURM_MEM_BIND_PREFER", "--mem-bind", inherited},
    {"SLURM_MEM_BIND_SORT", "--mem-bind", inherited},
    {"SLURM_MEM_BIND_TYPE", "--mem-bind", inherited},
    {"SLURM_MEM_BIND_VERBOSE", "--mem-bind", inherited},
    {"SLURM_MEM_PER_CPU", "--mem-per-cpu", inherited},
    {"SLURM_MEM_PER_GPU", "--mem-per-gpu", inherited},
    {"SLURM_MEM_PER_NODE", "", kept},
    {"SLURM_MPI_TYPE", "", unset},
    {"SLURM_NCORES_PER_SOCKET", "", unset},
    {"SLURM_NETWORK", "--network", inherited},
    {"SLURM_NO_KILL", "", unset},
    {"SLURM_NPROCS", "", kept},
    {"SLURM_NSOCKETS_PER_NODE", "", unset},
    {"SLURM_NTASKS", "", kept},
    {"SLURM_NTASKS_PER_CORE", "--ntasks-per-core", inherited},
    {"SLURM_NTASKS_PER_GPU", "--ntasks-per-gpu", inherited},
    {"SLURM_NTASKS_PER_NODE", "", unset},
    {"SLURM_NTASKS_PER_SOCKET", "--ntasks-per-socket", inherited},
    {"SLURM_NTASKS_PER_TRES", "--ntasks-per-tres", inherited},
    {"SLURM_OOM_KILL_STEP", "--oom-kill-step", inherited},
    {"SLURM_OPEN_MODE", "--open-mode", inherited},
    {"SLURM_OVERCOMMIT", "--overcommit", inherited},
    {"SLURM_OVERLAP", "", unset},
    {"SLURM_PARTITION", "", unset},
    {"SLURM_POWER", "", unset},
    {"SLURM_PROFILE", "--profile", inherited},
    {"SLURM_PROLOG", "", unset},
    {"SLURM_QOS", "", unset},
    {"SLURM_REMOTE_CWD", "", unset},
    {"SLURM_REQ_SWITCH", "", unset},
    {"SLURM_RESERVATION", "", unset},
    {"SLURM_RESV_PORTS", "", unset},
    {"SLURM_SEND_LIBS", "", unset},
    {"SLURM_SIGNAL", "", unset},
    {"SLURM_SPREAD_JOB", "", unset},
    {"SLURM_SPREAD_SEGMENTS", "", unset},
    {"SLURM_SRUN_MULTI", "", unset},
    {"SLURM_SRUN_REDUCE_TASK_EXIT_MSG", "", unset},
    {"SLURM_STDERRMODE", "", unset},
    {"SLURM_STDINMODE", "", unset},
    {"SLURM_STDOUTMODE", "", unset},
    {"SLURM_STEP_GRES", "", unset},
    {"SLURM_STEP_KILLED_MSG_NODE_ID", "", unset},
    {"SLURM_TASK_EPILOG", "", unset},
    {"SLURM_TASK_PROLOG", "", unset},
    {"SLURM_TEST_EXEC", "", unset},
    {"SLURM_THREADS", "", unset},
    {"SLURM_THREADS_PER_CORE", "--threads-per-core", inherited},
    {"SLURM_THREAD_SPEC", "", unset},
    {"SLURM_TIMELIMIT", "", unset},
    {"SLURM_TRES_BIND", "--tres-bind", inherited},
    {"SLURM_TRES_PER_TASK", "--tres-per-task", inherited},
    {"SLURM_UNBUFFEREDIO", "", unset},
    {"SLURM_USE_MIN_NODES", "", unset},
    {"SLURM_WAIT", "", unset},
    {"SLURM_WAIT4SWITCH", "", unset},
    {"SLURM_WCKEY", "--wckey", inherited},
    {"SLURM_WORKING_DIR", "", unset},
    {"SRUN_CONTAINER", "", unset},
    {"SRUN_CONTAINER_ID", "", unset},
    {"SRUN_CONTAINER_TYPE", "", unset},
    {"SRUN_CPUS_PER_TASK", "", unset},
    {"SRUN_ERROR", "", unset},
    {"SRUN_EXPORT_ENV", "", unset},
    {"SRUN_INPUT", "", unset},
    {"SRUN_OUTPUT", "", unset},
    {"SRUN_SEGMENT_SIZE", "", unset},
};

bool is_of_sbatch(const Variable& variable) {
  return variable.fate == adopted || variable.fate == refused || variable.fate == removed;
}

const Variable* sbatch_variable(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      table, [&](const Variable& row) { return row.name == name && is_of_sbatch(row); });
  return found == std::end(table) ? nullptr : found;
}

/// The option as sbatch would take it from the variable. nullopt: it takes none, since a variable
/// of an option without a value turns that on with nothing, "yes" or a number but 0.
std::optional<std::string> word_of(const Variable& variable, const std::string& value) {
  if (variable.option.empty()) return std::nullopt;
  const auto* known = find_slurm_option(variable.option.substr(2), SlurmProgram::sbatch);
  const auto takes = known == nullptr ? OptionArgument::required : known->argument;
  if (takes == OptionArgument::required && value.empty()) return std::nullopt;
  if (takes == OptionArgument::required) return option_word({std::string(variable.option), value});
  const bool on = value.empty() || value == "yes" || parse_number<int>(value).value_or(0) != 0;
  if (on) return std::string(variable.option);
  if (takes == OptionArgument::none) return std::nullopt;
  return option_word({std::string(variable.option), value});
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
  for (const auto& known : table)
    if (is_of_sbatch(known))
      if (auto value = system.environment(known.name))
        found.emplace_back(known.name, *std::move(value));
  return found;
}

std::string_view option_of_variable(std::string_view name) {
  const auto* known = sbatch_variable(name);
  return known == nullptr ? std::string_view() : known->option;
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
  for (const auto& known : table)
    if (is_of_sbatch(known) == (program == SlurmProgram::sbatch)) names.push_back(known.name);
  return names;
}

std::vector<std::string_view> contradicting_variables(const std::vector<std::string>& sbatch) {
  std::vector<std::string_view> names;
  for (const auto& known : table)
    if (known.fate == unset || (known.fate == inherited && !asks_for(sbatch, known.option)))
      names.push_back(known.name);
  return names;
}

}  // namespace dllaunch
