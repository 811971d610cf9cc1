#include "launcher/plan/profile_job.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/plan/external_scheduler.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {
namespace {

using Texts = std::vector<std::string>;

/// "constraint" of "--constraint=gpu", "-C gpu" and "!-C".
std::string option_name(std::string_view extra) {
  if (extra.starts_with('!')) extra.remove_prefix(1);
  if (extra.starts_with("--"))
    return std::string(extra.substr(2, extra.find_first_of("= ", 2) - 2));
  if (extra.size() < 2 || extra.front() != '-') return "";
  const auto options = slurm_options();
  const auto found =
      std::ranges::find_if(options, [&](const auto& o) { return o.letter == extra[1]; });
  return found == options.end() ? std::string(extra) : std::string(found->name);
}

bool names(const Texts& extras, const std::string& option) {
  return std::ranges::any_of(
      extras, [&option](const std::string& extra) { return option_name(extra) == option; });
}

/// Whether the job sets the key that corresponds to an sbatch option.
bool has_key_for(const Resources& resources, const std::string& option) {
  return (option == "constraint" && resources.constraint) ||
         (option == "partition" && resources.partition) ||
         (option == "account" && resources.account) || (option == "qos" && resources.qos) ||
         (option == "time" && resources.time) || (option == "exclude" && resources.exclude) ||
         (option == "reservation" && resources.reservation) ||
         (option == "segment" && resources.segment) || (option == "switches" && resources.switches);
}

/// The profile's options that the user neither gives nor removes, then the user's.
template <typename Given>
Texts merged(const Texts& profile, const Texts& own, const Given& given) {
  Texts all;
  for (const auto& extra : profile)
    if (!names(own, option_name(extra)) && !given(option_name(extra))) all.push_back(extra);
  for (const auto& extra : own) {
    // A removal of a profile's option has been applied.
    if (extra.starts_with('!') && names(profile, option_name(extra))) continue;
    all.push_back(extra);
  }
  return all;
}

/// Whether the user sets it, to a value or to null.
bool is_set(const JobEnvironment& environment, const std::string& name) {
  const auto& none = environment.left_alone;
  if (std::ranges::find(none, name) != none.end()) return true;
  return std::ranges::any_of(environment.variables,
                             [&name](const auto& variable) { return variable.first == name; });
}

bool has_gpus(const ProfileNode& node) {
  return !node.topology.gpus.empty();
}

const ProfileNode* node_of(const ClusterProfile& profile, const ProfilePartition& partition) {
  const auto found = std::ranges::find_if(
      profile.nodes, [&](const auto& node) { return node.name == partition.node; });
  return found == profile.nodes.end() ? nullptr : &*found;
}

/// The node type of the job's partition; without a partition, the default one's, or for `device:
/// cpu` one without GPUs. Null if the profile does not know the partition.
const ProfileNode* meant_node(const ClusterProfile& profile, const Resources& resources) {
  if (resources.partition) {
    for (const auto& partition : profile.partitions)
      if (partition.name == *resources.partition) return node_of(profile, partition);
    return nullptr;
  }
  if (resources.device == "cpu") {
    const auto found =
        std::ranges::find_if(profile.nodes, [](const auto& node) { return !has_gpus(node); });
    return found == profile.nodes.end() ? nullptr : &*found;
  }
  for (const auto& partition : profile.partitions)
    if (partition.is_default) return node_of(profile, partition);
  return profile.nodes.empty() ? nullptr : &profile.nodes.front();
}

/// Sets the key `constraint`, so that node selection sees it. Keeps the user's own constraint.
void choose_constraint(const ClusterProfile& profile, Resources& resources) {
  const bool own = resources.constraint || names(resources.sbatch_extra, "constraint");
  const auto* node = meant_node(profile, resources);
  if (!own && node != nullptr && !node->constraint.empty()) resources.constraint = node->constraint;
  const bool without_gpus =
      resources.device == "cpu" || (node != nullptr && !has_gpus(*node) && resources.partition);
  for (const auto& extra : profile.sbatch_extra)
    if (option_name(extra) == "constraint" && !own && !resources.constraint && !without_gpus)
      resources.constraint = extra.substr(std::min(extra.size(), extra.find_first_of("= ") + 1));
  const bool no_partition = std::ranges::any_of(profile.partitions, [&](const auto& partition) {
    return partition.by_constraint && partition.name == resources.partition;
  });
  if (no_partition) resources.partition.reset();
}

/// The modules the site recommends for the program, if the job loads none.
Texts suggestion(const Job& job, const ClusterProfile& profile) {
  const auto& environment = job.environment;
  if (!environment.modules.empty() || environment.activate || environment.container ||
      !profile.modules.empty())
    return {};
  const auto framework = job.train.is_null() ? job.framework : "mpi";
  for (const auto& [name, modules] : profile.suggested_modules)
    if (name == framework) return modules;
  return {};
}

}  // namespace

Job with_profile(Job job, const ClusterProfile& profile) {
  auto& environment = job.environment;
  auto modules = profile.modules;
  for (auto& module : environment.modules)
    if (std::ranges::find(modules, module) == modules.end()) modules.push_back(std::move(module));
  environment.modules = std::move(modules);

  auto variables = profile.variables;
  std::erase_if(variables,
                [&](const auto& variable) { return is_set(environment, variable.first); });
  std::move(environment.variables.begin(), environment.variables.end(),
            std::back_inserter(variables));
  environment.variables = std::move(variables);

  if (environment.container) {
    auto& container = *environment.container;
    // "apptainer" is the default value.
    if (!profile.container.runtime.empty() && container.runtime == "apptainer")
      container.runtime = profile.container.runtime;
    container.mounts.insert(container.mounts.begin(), profile.container.mounts.begin(),
                            profile.container.mounts.end());
  }
  auto& resources = job.resources;
  choose_constraint(profile, resources);
  resources.sbatch_extra =
      merged(profile.sbatch_extra, resources.sbatch_extra, [&](const std::string& option) {
        return option == "constraint" || has_key_for(resources, option);
      });
  resources.srun_extra =
      merged(profile.srun_extra, resources.srun_extra, [](const std::string&) { return false; });
  return profile.scheduler == "slurm" ? job : for_external_scheduler(std::move(job));
}

void finish_plan(const Job& job, const ClusterProfile& profile, LaunchPlan& plan) {
  plan.cluster = profile.name;
  plan.profile = profile.file;
  plan.network = profile.network_block;
  plan.node_book = profile.node_book;
  plan.host_suffix = profile.host_suffix;
  plan.node_folders = profile.node_folders;
  std::erase_if(plan.node_folders,
                [&](const auto& variable) { return is_set(job.environment, variable.first); });
  plan.suggested_modules = suggestion(job, profile);
  if (profile.scheduler != "slurm") start_elsewhere(job, profile, plan);
}

}  // namespace dllaunch
