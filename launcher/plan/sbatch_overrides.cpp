#include "launcher/plan/sbatch_overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {
namespace {

struct Key {
  std::string_view option;
  std::optional<std::string> Resources::*value;
};

constexpr std::array<Key, 7> keys = {{{"--partition", &Resources::partition},
                                      {"--account", &Resources::account},
                                      {"--qos", &Resources::qos},
                                      {"--time", &Resources::time},
                                      {"--reservation", &Resources::reservation},
                                      {"--constraint", &Resources::constraint},
                                      {"--exclude", &Resources::exclude}}};

struct Variable {
  std::string_view name;
  std::string_view option;
  bool never = false;  // counts in no job of ours, whatever its lines
};

// sbatch(1), INPUT ENVIRONMENT VARIABLES, Slurm 20.11 to 25.x. Not among them: memory and
// requeueing, of which a script has our defaults only, so that the user's wish may count.
constexpr std::array<Variable, 21> known_variables = {{
    {"SBATCH_PARTITION", "--partition"},
    {"SBATCH_ACCOUNT", "--account"},
    {"SBATCH_QOS", "--qos"},
    {"SBATCH_TIMELIMIT", "--time"},
    {"SBATCH_RESERVATION", "--reservation"},
    {"SBATCH_CONSTRAINT", "--constraint"},
    // resources.exclusive says yes or no, and no is no line.
    {"SBATCH_EXCLUSIVE", "--exclusive", true},
    // It would come back when the job is over.
    {"SBATCH_WAIT", "--wait", true},
    {"SBATCH_ARRAY_INX", "--array"},
    {"SBATCH_GPUS", "--gpus"},
    {"SBATCH_GPUS_PER_NODE", "--gpus-per-node"},
    {"SBATCH_GPUS_PER_TASK", "--gpus-per-task"},
    {"SBATCH_GRES", "--gres"},
    {"SBATCH_JOB_NAME", "--job-name"},
    {"SBATCH_OPEN_MODE", "--open-mode"},
    {"SBATCH_OUTPUT", "--output"},
    {"SBATCH_SIGNAL", "--signal"},
    {"SBATCH_DISTRIBUTION", "--distribution"},
    {"SBATCH_HINT", "--hint"},
    {"SBATCH_THREADS_PER_CORE", "--threads-per-core"},
    {"SBATCH_GPU_BIND", "--gpu-bind"},
}};

const Variable* known_variable(std::string_view name) {
  const auto* const found =
      std::find_if(known_variables.begin(), known_variables.end(),
                   [name](const Variable& known) { return known.name == name; });
  return found == known_variables.end() ? nullptr : found;
}

/// What Slurm will not understand as a duration stays where it is: the message is Slurm's.
bool fits(const Key& key, const std::string& value) {
  if (value.empty()) return false;
  return key.option != "--time" || is_unlimited(value) || parse_slurm_minutes(value);
}

/// What stands behind "gpu:" of --gres, and the whole value of the others; empty where it is not
/// about GPUs, or about several kinds of them.
std::string_view gpus_of(std::string_view option, std::string_view value) {
  constexpr std::array<std::string_view, 4> counts = {"--gpus-per-node", "--gpus",
                                                      "--gpus-per-task", "--gpus-per-socket"};
  if (value.find(',') != std::string_view::npos) return {};
  if (option == "--gres") return value.starts_with("gpu:") ? value.substr(4) : std::string_view();
  const bool known = std::find(counts.begin(), counts.end(), option) != counts.end();
  return known ? value : std::string_view();
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Of every node; nothing where the option counts otherwise or says no number.
std::optional<int> gpus_per_node_in(std::string_view option, std::string_view value) {
  if (option != "--gres" && option != "--gpus-per-node") return std::nullopt;
  if (option == "--gres" && value == "gpu") return 1;
  const auto gpus = gpus_of(option, value);
  const auto count = gpus.substr(gpus.rfind(':') + 1);
  int number = 0;
  if (!is_number(count) ||
      std::from_chars(count.data(), count.data() + count.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

}  // namespace

SbatchVariables sbatch_variables(System& system) {
  SbatchVariables found;
  for (const auto& known : known_variables)
    if (auto value = system.environment(known.name))
      found.emplace_back(known.name, *std::move(value));
  return found;
}

Job apply_overrides(Job job, const SbatchVariables& variables) {
  const auto own = job.resources;
  auto& resources = job.resources;
  const bool counts_gpus = own.device != "cpu" && job.train.is_null() && !own.gpus_per_node;
  for (const auto& extra : own.sbatch_extra) {
    const auto option = option_of_line(extra);
    if (!option) continue;
    for (const auto& key : keys)
      if (key.option == option->first && !(own.*key.value) && fits(key, option->second))
        resources.*key.value = option->second;
    if (const auto gpus = gpus_per_node_in(option->first, option->second); gpus && counts_gpus)
      resources.gpus_per_node = gpus;
  }
  for (const auto& variable : variables) {
    const auto& name = variable.first;
    const auto& value = variable.second;
    const auto* known = known_variable(name);
    for (const auto& key : keys)
      if (known != nullptr && key.option == known->option && !(resources.*key.value) &&
          fits(key, value))
        resources.*key.value = value;
  }
  return job;
}

std::string gpu_type_in(const std::string& extra) {
  const auto option = option_of_line(extra);
  if (!option) return {};
  const auto gpus = gpus_of(option->first, option->second);
  const auto type = gpus.substr(0, gpus.find(':'));
  return is_number(type) ? "" : std::string(type);
}

std::string wanted_gpu_type(const std::vector<std::string>& extras) {
  for (const auto& extra : extras)
    if (auto type = gpu_type_in(extra); !type.empty()) return type;
  return {};
}

std::vector<Overriding> overriding(const std::vector<std::string>& options,
                                   const SbatchVariables& variables) {
  std::vector<Overriding> found;
  for (const auto& variable : variables) {
    const auto& name = variable.first;
    const auto& value = variable.second;
    const auto* known = known_variable(name);
    if (known == nullptr) continue;
    const auto ours = std::find_if(options.begin(), options.end(), [&](const std::string& line) {
      const auto option = option_of_line(line);
      return option && decide_the_same(option->first, known->option, value);
    });
    if (ours != options.end())
      found.push_back({name, value, *ours});
    else if (known->never)
      found.push_back({name, value, ""});
  }
  return found;
}

std::vector<std::string> notes_on(const std::vector<Overriding>& variables) {
  std::vector<std::string> notes;
  for (const auto& [name, value, option] : variables) {
    const auto* known = known_variable(name);
    if (known == nullptr || option == option_word({std::string(known->option), value})) continue;
    const auto against = !option.empty() ? "sbatch would take it for " + option
                         : name == "SBATCH_WAIT"
                             ? std::string("sbatch would wait for the job's end")
                             : "resources.exclusive: false says otherwise";
    notes.push_back(fmt::format("{}={} is set here, and {}: dllaunch submits without it", name,
                                value, against));
  }
  return notes;
}

std::vector<std::string> sbatch_without(const std::vector<Overriding>& variables) {
  if (variables.empty()) return {"sbatch"};
  std::vector<std::string> argv = {"env"};
  for (const auto& variable : variables) argv.insert(argv.end(), {"-u", variable.variable});
  argv.emplace_back("sbatch");
  return argv;
}

std::vector<std::string> options_of_script(std::string_view script) {
  std::vector<std::string> options;
  while (script.starts_with('#')) {
    const auto line = script.substr(0, script.find('\n'));
    constexpr std::string_view directive = "#SBATCH ";
    if (line.starts_with(directive)) options.emplace_back(line.substr(directive.size()));
    script.remove_prefix(std::min(line.size() + 1, script.size()));
  }
  return options;
}

}  // namespace dllaunch
