#include "launcher/doctor/ranks_of_job.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include <fmt/core.h>

namespace dllaunch {
namespace {

std::string value_of(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

/// torchrun's workers inherit the variables of its starter, which name torchrun's agent.
bool started_by_torchrun(const Environment& environment) {
  return environment.contains("TORCHELASTIC_RUN_ID") && environment.contains("LOCAL_RANK");
}

bool is_outer_launchers(std::string_view name) {
  return name.starts_with("SLURM_") || name.starts_with("OMPI_") || name.starts_with("PMIX_") ||
         name.starts_with("PMI_") || name.starts_with("MPI_LOCAL") || name == spawn_variable;
}

std::string job_of(const Environment& environment, const JobProcess& process) {
  const auto value = [&](const char* name) { return value_of(environment, name); };
  const auto& launcher = process.rank.launcher;
  if (launcher == "slurm") {
    const auto step = value("SLURM_STEP_ID");
    return fmt::format("step {}.{}", value("SLURM_JOB_ID"),
                       step.empty() ? value("SLURM_STEPID") : step);
  }
  if (launcher == "openmpi" || launcher == "pmix" || launcher == "jsrun") {
    const auto space = value("PMIX_NAMESPACE");
    return "mpirun " + (space.empty() ? value("OMPI_MCA_ess_base_jobid") : space);
  }
  if (launcher == "dllaunch") return "dllaunch spawn " + value(spawn_variable);
  if (launcher == "torchrun")
    return fmt::format("torchrun {}:{} {}", value("MASTER_ADDR"), value("MASTER_PORT"),
                       value("TORCHELASTIC_RUN_ID"));
  // MPICH's proxy is the parent of all its ranks on a node.
  if (launcher == "pmi") return fmt::format("mpiexec {}", process.parent);
  return "";
}

bool is_daemon(std::string_view name) {
  constexpr std::string_view names[] = {"orted", "prted",  "prterun",   "hydra_pmi_proxy",
                                        "srun",  "mpirun", "slurmstepd"};
  // The kernel keeps 15 bytes of a name.
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view known) { return name == known.substr(0, 15); });
}

bool is_wrapper(std::string_view name) {
  constexpr std::string_view names[] = {"sh",   "bash",    "dash", "zsh",      "ksh",   "tcsh",
                                        "csh",  "numactl", "env",  "taskset",  "time",  "timeout",
                                        "nsys", "ncu",     "perf", "dllaunch", "strace"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

using Group = std::vector<const JobProcess*>;  // of one rank, by pid

const JobProcess* child_in(const Group& group, int parent) {
  const auto found = std::find_if(group.begin(), group.end(), [&](const JobProcess* process) {
    return process->parent == parent && process->pid != parent;
  });
  return found == group.end() ? nullptr : *found;
}

const JobProcess* root_of(const Group& group) {
  std::set<int> pids;
  for (const auto* process : group) pids.insert(process->pid);
  const auto found = std::find_if(group.begin(), group.end(), [&](const JobProcess* process) {
    return !pids.contains(process->parent);
  });
  return found == group.end() ? group.front() : *found;
}

RankProcess rank_in(const Group& group, int wanted) {
  const JobProcess* chosen = root_of(group);
  std::size_t wrappers = 0;
  // No chain is longer than the group, even if a damaged recording has a cycle of parents.
  while (is_wrapper(chosen->name) && wrappers + 1 < group.size()) {
    const auto* child = child_in(group, chosen->pid);
    if (child == nullptr) break;
    chosen = child;
    ++wrappers;
  }
  for (const auto* process : group)
    if (process->pid == wanted) chosen = process;
  const auto others = static_cast<int>(group.size() - wrappers) - 1;
  return {.pid = chosen->pid, .rank = chosen->rank, .workers = std::max(0, others)};
}

}  // namespace

void read_job(const Environment& environment, JobProcess& process) {
  const bool torchrun = started_by_torchrun(environment);
  const EnvLookup lookup = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end() || (torchrun && is_outer_launchers(name))) return std::nullopt;
    return found->second;
  };
  process.slurm_job = value_of(environment, "SLURM_JOB_ID");
  auto rank = read_rank_env(lookup);
  if (!rank || rank->launcher == "none") return;
  // salloc's shell is a step too, with a reserved number.
  constexpr std::string_view interactive_step = "4294967290";
  if (rank->launcher == "slurm" && value_of(environment, "SLURM_STEP_ID") == interactive_step)
    return;
  process.rank = *std::move(rank);
  process.job = job_of(environment, process);
}

std::vector<RankProcess> ranks_of_job(const std::vector<JobProcess>& processes,
                                      const std::string& job, int wanted) {
  std::map<int, Group> by_rank;
  for (const auto& process : processes) {
    if (process.job != job || (is_daemon(process.name) && process.pid != wanted)) continue;
    by_rank[process.rank.rank].push_back(&process);
  }
  std::vector<RankProcess> ranks;
  for (auto& [rank, group] : by_rank) {
    std::sort(group.begin(), group.end(),
              [](const JobProcess* a, const JobProcess* b) { return a->pid < b->pid; });
    ranks.push_back(rank_in(group, wanted));
  }
  return ranks;
}

std::vector<std::string> jobs_among(const std::vector<JobProcess>& processes) {
  std::set<std::string> jobs;
  for (const auto& process : processes)
    if (!process.job.empty() && !is_daemon(process.name)) jobs.insert(process.job);
  return {jobs.begin(), jobs.end()};
}

}  // namespace dllaunch
