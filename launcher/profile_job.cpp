#include "launcher/profile_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "launcher/lint/slurm_options.hpp"

namespace dllaunch {
namespace {

using Texts = std::vector<std::string>;

/// "constraint" of "--constraint=gpu", "-C gpu" and "!-C".
std::string option_name(std::string_view extra) {
  if (extra.starts_with('!')) extra.remove_prefix(1);
  if (extra.starts_with("--"))
    return std::string(extra.substr(2, extra.find_first_of("= ", 2) - 2));
  if (extra.size() < 2 || extra.front() != '-') return "";
  const auto options = lint::slurm_options();
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto& o) { return o.letter == extra[1]; });
  return found == options.end() ? std::string(extra) : std::string(found->name);
}

bool names(const Texts& extras, const std::string& option) {
  return std::any_of(extras.begin(), extras.end(),
                     [&option](const std::string& extra) { return option_name(extra) == option; });
}

/// The job's own keys for what sbatch calls these.
bool has_key_for(const Resources& resources, const std::string& option) {
  return (option == "constraint" && resources.constraint) ||
         (option == "partition" && resources.partition) ||
         (option == "account" && resources.account) || (option == "qos" && resources.qos) ||
         (option == "time" && resources.time) || (option == "exclude" && resources.exclude) ||
         (option == "reservation" && resources.reservation);
}

/// The profile's options that the user neither gives nor takes away, and then the user's.
template <typename Given>
Texts merged(const Texts& profile, const Texts& own, const Given& given) {
  Texts all;
  for (const auto& extra : profile)
    if (!names(own, option_name(extra)) && !given(option_name(extra))) all.push_back(extra);
  for (const auto& extra : own) {
    // What takes away a line of the profile has done so.
    if (extra.starts_with('!') && names(profile, option_name(extra))) continue;
    all.push_back(extra);
  }
  return all;
}

/// By the user, to a value or to none.
bool is_set(const JobEnvironment& environment, const std::string& name) {
  const auto& none = environment.left_alone;
  if (std::find(none.begin(), none.end(), name) != none.end()) return true;
  return std::any_of(environment.variables.begin(), environment.variables.end(),
                     [&name](const auto& variable) { return variable.first == name; });
}

std::string scheduler_words(const std::string& scheduler) {
  if (scheduler == "pbs") return "PBS";
  if (scheduler == "lsf") return "LSF";
  if (scheduler == "cobalt") return "Cobalt";
  return "Slurm";
}

/// Each rank's CPUs, "24-31:16-23": as `mpiexec --cpu-bind list:` takes them.
std::string cpu_lists(const Placement& placement) {
  Texts lists;
  for (const auto& rank : placement.ranks) lists.push_back(to_list(rank.cpus));
  return fmt::format("{}", fmt::join(lists, ":"));
}

Texts start_words(const std::string& start, const LaunchPlan& plan) {
  std::size_t cores = 0;
  std::size_t gpus = 0;
  for (const auto& rank : plan.placement.ranks) {
    std::size_t own = 0;
    for (const auto& core : plan.topology.cores) own += core.cpus.intersects(rank.cpus) ? 1 : 0;
    cores = cores == 0 ? own : std::min(cores, own);
    gpus = std::max(gpus, rank.gpus.size());
  }
  const std::pair<std::string, std::string> values[] = {
      {"{ranks}", std::to_string(plan.ranks())},
      {"{nodes}", std::to_string(plan.nodes)},
      {"{ranks_per_node}", std::to_string(plan.ranks_per_node)},
      {"{cores_per_rank}", std::to_string(cores)},
      {"{gpus_per_rank}", std::to_string(gpus)},
      {"{cpus}", cpu_lists(plan.placement)}};
  std::istringstream text(start);
  Texts words;
  for (std::string word; text >> word;) {
    for (const auto& [name, value] : values)
      for (std::size_t at = 0; (at = word.find(name, at)) != std::string::npos; at += value.size())
        word.replace(at, name.size(), value);
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

Job with_profile(Job job, const ClusterProfile& profile) {
  auto& environment = job.environment;
  auto modules = profile.modules;
  for (auto& module : environment.modules)
    if (std::find(modules.begin(), modules.end(), module) == modules.end())
      modules.push_back(std::move(module));
  environment.modules = std::move(modules);

  auto variables = profile.variables;
  std::erase_if(variables,
                [&](const auto& variable) { return is_set(environment, variable.first); });
  std::move(environment.variables.begin(), environment.variables.end(),
            std::back_inserter(variables));
  environment.variables = std::move(variables);

  if (environment.container) {
    auto& container = *environment.container;
    // "apptainer" is what stands there when nobody has written anything.
    if (!profile.container.runtime.empty() && container.runtime == "apptainer")
      container.runtime = profile.container.runtime;
    container.mounts.insert(container.mounts.begin(), profile.container.mounts.begin(),
                            profile.container.mounts.end());
  }
  auto& resources = job.resources;
  // As a key it decides which nodes are planned for, too.
  for (const auto& extra : profile.sbatch_extra)
    if (extra.starts_with("--constraint=") && !names(resources.sbatch_extra, "constraint") &&
        !resources.constraint)
      resources.constraint = extra.substr(extra.find('=') + 1);
  resources.sbatch_extra =
      merged(profile.sbatch_extra, resources.sbatch_extra,
             [&](const std::string& option) { return has_key_for(resources, option); });
  resources.srun_extra =
      merged(profile.srun_extra, resources.srun_extra, [](const std::string&) { return false; });
  return job;
}

void finish_plan(const Job& job, const ClusterProfile& profile, LaunchPlan& plan) {
  plan.cluster = profile.name;
  plan.profile = profile.file;
  plan.host_suffix = profile.host_suffix;
  plan.node_folders = profile.node_folders;
  std::erase_if(plan.node_folders,
                [&](const auto& variable) { return is_set(job.environment, variable.first); });
  if (profile.scheduler == "slurm") return;
  plan.scheduler = scheduler_words(profile.scheduler);
  plan.start = start_words(profile.start, plan);
  plan.start.insert(plan.start.end(), plan.rank_command.begin(), plan.rank_command.end());
  plan.sbatch.clear();
  plan.sbatch_extra.clear();
  plan.warnings.push_back(fmt::format(
      "{} is run by {}: dllaunch plans for it, and you start the ranks with the line above",
      profile.name, plan.scheduler));
}

}  // namespace dllaunch
