#include "launcher/sweep/prepare_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "launcher/base/moment.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/allocated.hpp"
#include "launcher/launch/child_run.hpp"
#include "launcher/launch/held_allocation.hpp"
#include "launcher/launch/own_gpus.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "launcher/sweep/optuna_sampler.hpp"
#include "launcher/sweep/stored_sweep.hpp"
#include "launcher/sweep/trial_metric.hpp"
#include "launcher/sweep/trial_sets.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr int default_trials = 32;
constexpr int concurrent_jobs = 4;

/// Each check reads the job file again.
constexpr std::size_t most_checked = 20;

/// Whether each end of each range makes a job that can be planned.
Result<Ok> check_space(System& system, const SweepRequest& request, const Job& job,
                       const std::vector<Parameter>& space, std::int64_t all_epochs) {
  for (const Parameter& parameter : space) {
    auto values = extremes_of(parameter);
    if (values.size() > most_checked) values.resize(most_checked);
    for (const Json& value : values) {
      Json one = Json::object();
      for (const Parameter& other : space) one[other.name] = extremes_of(other).front();
      one[parameter.name] = value;
      const auto sets = sets_of_trial(job, one, all_epochs, all_epochs);
      if (!sets) return sets.error();
      auto all = request.sets;
      all.insert(all.end(), sets->begin(), sets->end());
      if (auto loaded = load_job(system, request.job_file, all); !loaded)
        return std::move(loaded).error().within(
            fmt::format("sweep.parameters.{}, {}", parameter.name, value.dump()));
    }
  }
  return Ok{};
}

int gpus_of(const LaunchPlan& plan) {
  std::set<int> gpus;
  for (const auto& rank : plan.placement.ranks) gpus.insert(rank.gpus.begin(), rank.gpus.end());
  return static_cast<int>(gpus.size());
}

/// Why trials cannot have GPUs of their own; empty: they can.
std::string why_shared(System& system, const Job& job, const Topology& node) {
  const auto is_amd = [](const Gpu& gpu) { return gpu.vendor == "amd"; };
  for (const auto& [name, value] : job.environment.variables)
    if (name.ends_with("VISIBLE_DEVICES") || name == "ZE_AFFINITY_MASK")
      return fmt::format("{} in the job file gives every trial the same GPUs", name);
  // They count among the GPUs that ROCR_VISIBLE_DEVICES leaves a trial.
  for (const char* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (system.environment(name) && std::ranges::any_of(node.gpus, is_amd))
      return fmt::format("{} is set; ROCR_VISIBLE_DEVICES may be", name);
  const auto whole = system.topology(DeviceNames::read);
  if (!whole || !with_own_gpus(system, *whole))
    return "it cannot be told which of the machine's GPUs this process may use";
  return "";
}

/// One trial alone, on one node.
PlacementRequest trial_of(const LaunchPlan& plan) {
  auto trial = plan.request;
  trial.ranks = static_cast<int>(plan.placement.ranks.size());
  trial.gpus = gpus_of(plan);
  return trial;
}

/// Parts of a machine with this topology. `concurrent`: trials at a time; nullopt: as many as fit.
Result<std::vector<Slot>> parts_of(System& system, const Job& job, const LaunchPlan& plan,
                                   const Topology& node, std::optional<int> concurrent) {
  const auto trial = trial_of(plan);
  const auto why = trial.gpus > 0 ? why_shared(system, job, node) : "";
  const int many = concurrent.value_or(why.empty() ? slots_that_fit(node, trial) : 1);
  if (many == 1) return std::vector<Slot>(1);
  if (!why.empty())
    return Error{ErrorKind::bad_request, "sweep.concurrent: " + why,
                 "concurrent: 1, or resources.device: cpu"};
  return slots_on(node, trial, many);
}

/// How many of the trials at a time a node takes; nullopt: as many as fit. `node`: one of them.
/// bad_request: more than it can.
Result<std::optional<int>> parts_of_each(const Job& job, const LaunchPlan& plan,
                                         const Topology& node, int nodes) {
  const auto& wanted = job.sweep.concurrent;
  if (!wanted) return std::optional<int>();
  const int each = (*wanted + nodes - 1) / nodes;
  const int most = most_slots(node, trial_of(plan));
  const int all = std::max(1, most) * nodes;
  if (each > 1 && each > most && !node.cores.empty())
    return Error{ErrorKind::bad_request,
                 fmt::format("sweep.concurrent is {}, and {} can take {} at a time", *wanted,
                             counted(nodes, "node"), counted(all, "trial")),
                 fmt::format("concurrent: {}, or more nodes", all)};
  return std::optional(each);
}

/// Whole nodes of the allocation, or equal parts of each, cut as this node is.
Result<std::vector<Slot>> slots_of_allocation(System& system, const Job& job,
                                              const LaunchPlan& plan, PreparedSweep& prepared) {
  const auto allocation = allocation_here(system, "", job.binding.network_order, plan.network);
  if (!allocation) return allocation.error();
  const auto hosts = expand_hosts(allocation->nodes);
  if (!hosts) return hosts.error();
  const int count = std::max(1, static_cast<int>(hosts->size()));
  const auto& wanted = job.sweep.concurrent;
  std::vector<Slot> parts;
  // salloc's shell may be on a login node, outside the allocation.
  if (plan.nodes == 1 && !allocation->host.empty()) {
    auto here = system.topology(DeviceNames::read);
    if (!here) return std::move(here).error();
    prepared.node = with_own_gpus(system, *here).value_or(*here);
    const auto each = parts_of_each(job, plan, prepared.node, count);
    if (!each) return each.error();
    auto cut = parts_of(system, job, plan, prepared.node, *each);
    if (!cut) return std::move(cut).error();
    if (cut->size() > 1) parts = *std::move(cut);
  } else if (wanted && *wanted > count / plan.nodes) {
    system.log(
        "dllaunch: each trial gets whole nodes: only on a node of the allocation, as in a job "
        "script or with sweep.nodes, does the sweep know how to divide them\n");
  }
  return slots_in(*hosts, plan.nodes, parts, wanted);
}

/// Parts of this machine or of an allocation, or jobs of a cluster.
Result<std::vector<Slot>> slots_of(System& system, const SweepRequest& request, const Job& job,
                                   const LaunchPlan& plan, PreparedSweep& prepared) {
  if (request.allocated) return slots_of_allocation(system, job, plan, prepared);
  prepared.node = plan.topology;
  if (plan.launcher == Launcher::local)
    return parts_of(system, job, plan, plan.topology, job.sweep.concurrent);
  return std::vector<Slot>(
      static_cast<std::size_t>(job.sweep.concurrent.value_or(concurrent_jobs)));
}

/// Time for all trials at their limit, one round after another; nullopt: there is no limit.
std::optional<std::int64_t> minutes_of_all(const Job& job, int trials, int nodes) {
  const auto& limit = job.resources.time;
  const auto minutes = limit ? parse_slurm_minutes(*limit) : std::nullopt;
  if (!minutes) return std::nullopt;
  const int whole = std::max(1, *job.sweep.nodes / nodes);
  const int wanted = job.sweep.concurrent.value_or(whole);
  const int together = nodes > 1 ? std::min(whole, wanted) : wanted;
  return held_minutes(std::int64_t{*minutes} * ((trials + together - 1) / together),
                      job.recovery.grace_seconds);
}

/// Whether an earlier execution has left nothing to do.
Result<bool> is_over(System& system, const SweepRequest& request, const Sweep& wanted) {
  const auto known = check_same_sweep(system, request.dir, wanted);
  if (!known || !*known) return known;
  auto stored = stored_sweep(system, request.dir);
  if (!stored || !*stored) return false;
  Sweep sweep = wanted;
  sweep.trials = std::move((*stored)->trials);
  const bool any = std::ranges::any_of(
      sweep.trials, [](const Trial& one) { return one.state == TrialState::running; });
  return !any && !next_step(sweep);
}

/// The job that all trials share: a trial's, with all of the nodes' memory.
Result<std::optional<LaunchPlan>> shared_plan(System& system, const SweepRequest& request,
                                              const Job& job, const LaunchPlan& plan, int trials) {
  const bool queues = plan.launcher == Launcher::slurm && !request.allocated;
  if (!queues || !job.sweep.nodes) return std::optional<LaunchPlan>();
  if (*job.sweep.nodes < plan.nodes)
    return Error{ErrorKind::bad_request,
                 fmt::format("sweep.nodes is {}, and a trial has {}", *job.sweep.nodes,
                             counted(plan.nodes, "node")),
                 "more sweep.nodes, or a smaller resources.nodes"};
  auto sets = request.sets;
  sets.push_back(fmt::format("resources.nodes={}", *job.sweep.nodes));
  if (job.resources.gpus) {
    sets.emplace_back("resources.gpus=null");
    sets.push_back(fmt::format("resources.gpus_per_node={}", gpus_of(plan)));
  }
  const auto minutes = minutes_of_all(job, trials, plan.nodes);
  if (job.sweep.time) {
    sets.push_back("resources.time=" + *job.sweep.time);
  } else if (minutes) {
    sets.push_back(fmt::format("resources.time={}", *minutes));
  }
  if (job.resources.exclusive && job.resources.memory) sets.emplace_back("resources.memory=null");
  auto shared = submittable_plan(
      system, {.job = request.job_file, .sets = std::move(sets), .facts = {}, .local = false});
  if (!shared) return std::move(shared).error().within("sweep.nodes");
  if (plan.nodes == 1)
    if (auto each = parts_of_each(job, plan, plan.topology, *job.sweep.nodes); !each)
      return std::move(each).error();
  return std::optional(*std::move(shared));
}

Result<Ok> set_epochs(const Job& job, PreparedSweep& prepared) {
  const JobSweep& wanted = job.sweep;
  if (!wanted.asha) return Ok{};
  const auto of_job = job.train.is_null()
                          ? std::nullopt
                          : value_at<std::optional<std::int64_t>>(job.train, "epochs");
  const auto all = wanted.max_epochs ? std::optional<std::int64_t>(*wanted.max_epochs) : of_job;
  if (!all)
    return Error{ErrorKind::bad_request, "scheduler: asha does not know how long a whole trial is",
                 "sweep: {max_epochs: 27}"};
  if (*all <= wanted.min_epochs)
    return Error{ErrorKind::bad_request,
                 fmt::format("scheduler: asha stops trials early, and a whole trial has {}",
                             counted(*all, "epoch")),
                 fmt::format("more than sweep.min_epochs, which is {}", wanted.min_epochs)};
  for (const char* taken : {"train.epochs", "train.max_steps", "epochs"})
    if (wanted.parameters.contains(taken))
      return Error{ErrorKind::bad_request,
                   fmt::format("sweep.parameters.{}: scheduler: asha sets it", taken),
                   "leave it out, or scheduler: none"};
  if (*all < std::int64_t{wanted.min_epochs} * wanted.reduction)
    return Error{
        ErrorKind::bad_request,
        fmt::format("scheduler: asha has nothing to choose: {} is less than sweep.reduction "
                    "({}) times sweep.min_epochs ({})",
                    counted(*all, "epoch"), wanted.reduction, wanted.min_epochs),
        "more epochs, or a smaller reduction"};
  prepared.all_epochs = *all;
  prepared.sweep.rungs = rungs_of(wanted.min_epochs, *all, wanted.reduction);
  return Ok{};
}

Result<Ok> set_budget(const Job& job, const std::vector<Parameter>& space,
                      PreparedSweep& prepared) {
  const JobSweep& wanted = job.sweep;
  int most = wanted.trials.value_or(default_trials);
  if (wanted.sampler == "grid" && !wanted.optuna) {
    const auto all = grid_size(space);
    if (!all)
      return Error{ErrorKind::bad_request, "the grid has more than 100,000 combinations",
                   "fewer steps:, or sampler: random"};
    most = std::min(wanted.trials.value_or(*all), *all);
  }
  prepared.sweep.most_trials = most;
  if (wanted.gpu_hours && prepared.gpus == 0)
    return Error{ErrorKind::bad_request, "sweep.gpu_hours: the job has no GPU", "leave it out"};
  prepared.budget.gpu_hours = wanted.gpu_hours;
  if (wanted.until) {
    prepared.budget.until_s = moment_in(*wanted.until, unix_seconds());
    if (!prepared.budget.until_s)
      return Error{ErrorKind::bad_request,
                   fmt::format("sweep.until: {} is no moment", shown_line(*wanted.until)),
                   "such as 2026-12-24 18:00"};
  }
  return Ok{};
}

}  // namespace

const std::vector<std::string> budget_keys = {"sweep.trials", "sweep.concurrent", "sweep.gpu_hours",
                                              "sweep.until",  "sweep.nodes",      "sweep.time"};

Result<PreparedSweep> prepare_sweep(System& system, const SweepRequest& request) {
  auto job = load_job(system, request.job_file, request.sets);
  if (!job) return std::move(job).error();
  if (job->array)
    return Error{ErrorKind::bad_request, "a job array cannot be swept", "remove array:"};
  PreparedSweep prepared;
  auto space = read_space(job->sweep);
  if (!space) return std::move(space).error();
  if (auto good = check_metric(*job); !good) return std::move(good).error();
  if (job->sweep.optuna)
    if (auto good = check_optuna(system, job->sweep); !good) return std::move(good).error();
  if (auto good = set_epochs(*job, prepared); !good) return std::move(good).error();
  if (auto good = check_space(system, request, *job, *space, prepared.all_epochs); !good)
    return std::move(good).error();
  const auto plan = plan_job(
      system, {.job = request.job_file, .sets = request.sets, .facts = {}, .local = request.local});
  if (!plan) return plan.error();
  prepared.gpus = gpus_of(*plan) * plan->nodes;
  auto slots = slots_of(system, request, *job, *plan, prepared);
  if (!slots) return std::move(slots).error();
  prepared.slots = *std::move(slots);
  if (auto good = set_budget(*job, *space, prepared); !good) return std::move(good).error();
  const auto longest =
      job->resources.time ? parse_slurm_seconds(*job->resources.time) : std::nullopt;
  if (longest && (request.allocated || plan->launcher == Launcher::local))
    prepared.longest_s = static_cast<double>(*longest);
  prepared.sweep.name = job->name;
  prepared.sweep.metric = job->sweep.metric;
  prepared.sweep.minimize = job->sweep.minimize;
  prepared.sweep.reduction = job->sweep.reduction;
  prepared.sweep.job = digest_of_job(job->resolved, budget_keys);
  const auto over = is_over(system, request, prepared.sweep);
  if (!over) return over.error();
  if (!*over) {
    auto shared = shared_plan(system, request, *job, *plan, prepared.sweep.most_trials);
    if (!shared) return std::move(shared).error();
    prepared.shared = *std::move(shared);
  }
  prepared.space = *std::move(space);
  prepared.job = *std::move(job);
  return prepared;
}

}  // namespace dllaunch
