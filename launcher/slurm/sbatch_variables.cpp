#include "launcher/slurm/sbatch_variables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "launcher/slurm/option_overrides.hpp"

namespace dllaunch {
namespace {

struct Variable {
  std::string_view name;
  std::string_view option;
  bool never = false;  // must never apply, whatever the options
};

// sbatch(1), INPUT ENVIRONMENT VARIABLES, Slurm 20.11 to 25.x. Memory and requeueing are left out:
// scripts only carry dllaunch's defaults for them, and the user's variables should win.
constexpr std::array<Variable, 21> known_variables = {{
    {"SBATCH_PARTITION", "--partition"},
    {"SBATCH_ACCOUNT", "--account"},
    {"SBATCH_QOS", "--qos"},
    {"SBATCH_TIMELIMIT", "--time"},
    {"SBATCH_RESERVATION", "--reservation"},
    {"SBATCH_CONSTRAINT", "--constraint"},
    // resources.exclusive is yes or no, and no has no option.
    {"SBATCH_EXCLUSIVE", "--exclusive", true},
    // sbatch would return only when the job is over.
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
  const auto* const found = std::ranges::find(known_variables, name, &Variable::name);
  return found == known_variables.end() ? nullptr : found;
}

}  // namespace

SbatchVariables sbatch_variables(System& system) {
  SbatchVariables found;
  for (const auto& known : known_variables)
    if (auto value = system.environment(known.name))
      found.emplace_back(known.name, *std::move(value));
  return found;
}

std::string_view option_of_variable(std::string_view name) {
  const auto* known = known_variable(name);
  return known == nullptr ? std::string_view() : known->option;
}

std::vector<Overriding> overriding(const std::vector<std::string>& options,
                                   const SbatchVariables& variables) {
  std::vector<Overriding> found;
  for (const auto& variable : variables) {
    const auto& name = variable.first;
    const auto& value = variable.second;
    const auto* known = known_variable(name);
    if (known == nullptr) continue;
    const auto ours = std::ranges::find_if(options, [&](const std::string& line) {
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
    const auto against = !option.empty() ? "sbatch would use it instead of " + option
                         : name == "SBATCH_WAIT"
                             ? std::string("sbatch would wait for the job's end")
                             : "resources.exclusive: false contradicts it";
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
