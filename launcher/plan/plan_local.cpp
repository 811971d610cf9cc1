// Plans for one machine. Open MPI's mpirun starts even a single rank, or else `dllaunch spawn`
// does (transport_plan.hpp).
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "launcher/plan/container.hpp"
#include "launcher/plan/node_share.hpp"
#include "launcher/plan/plan_internal.hpp"
#include "launcher/plan/transport_plan.hpp"

namespace dllaunch {
namespace {

/// Keeps the GPUs that `device` supports, and all of unknown make (vendor "other").
void keep_gpus_of(const std::string& device, Topology& topology) {
  if (device != "cuda" && device != "hip") return;
  const std::string vendor = device == "cuda" ? "nvidia" : "amd";
  std::erase_if(topology.gpus, [&vendor](const Gpu& gpu) {
    return gpu.vendor != vendor && gpu.vendor != "other";
  });
}

/// The first key of the job that only Slurm reads; empty: there is none.
std::string key_for_slurm(const Resources& resources) {
  using Key = std::pair<const char*, const std::optional<std::string>*>;
  const std::array<Key, 5> keys = {{{"partition", &resources.partition},
                                    {"account", &resources.account},
                                    {"qos", &resources.qos},
                                    {"reservation", &resources.reservation},
                                    {"constraint", &resources.constraint}}};
  const auto given =
      std::ranges::find_if(keys, [](const Key& key) { return key.second->has_value(); });
  return given == keys.end() ? "" : given->first;
}

/// Open MPI counts usable cores as slots, and refuses more ranks than slots.
int slots(const Topology& topology) {
  return static_cast<int>(std::ranges::count_if(topology.cores, [&topology](const Core& core) {
    return core.cpus.intersects(topology.allowed_cpus);
  }));
}

/// The shim binds the ranks as planned; mpirun's default of one core per rank would not.
std::vector<std::string> mpirun_options(const LaunchPlan& plan) {
  std::vector<std::string> options = {"--np", std::to_string(plan.ranks()), "--bind-to", "none"};
  if (plan.ranks() > slots(plan.topology)) options.emplace_back("--oversubscribe");
  if (plan.ranks() > max_rank_logs) options.emplace_back("--tag-output");
  options.emplace_back("--");
  return options;
}

}  // namespace

Result<LaunchPlan> plan_local(const Job& job, const Facts& facts, const Paths& paths) {
  const bool chosen = facts.slurm || facts.why_no_slurm.empty();
  if (job.resources.nodes > 1)
    return Error{ErrorKind::unsatisfiable,
                 chosen ? fmt::format("asked for {} nodes, but --local starts on this machine only",
                                      job.resources.nodes)
                        : fmt::format("asked for {} nodes, but there is no Slurm here: {}",
                                      job.resources.nodes, facts.why_no_slurm),
                 chosen
                     ? "use --set resources.nodes=1"
                     : "use --set resources.nodes=1, or --set cluster=NAME to plan for a cluster"};
  if (!facts.topology)
    return Error{ErrorKind::unavailable, "the topology of this machine is not known",
                 "facts for --local need a `topology`"};
  if (job.array)
    return Error{ErrorKind::unavailable, "a job array needs Slurm",
                 "start one task of it here with --set array=null"};
  auto plan = begin_plan(job, paths);
  plan.launcher = Launcher::local;
  plan.topology = *facts.topology;
  plan.exact = true;
  plan.origin = {.source = "machine", .host = facts.host};
  if (const auto key = key_for_slurm(job.resources); !key.empty())
    plan.warnings.push_back(fmt::format(
        "resources.{} has no effect on this machine; --set cluster=NAME plans for a cluster", key));
  leave_out_spare_nodes("the ranks start on this machine only", plan);
  leave_out_hold(
      "on this machine there is no allocation to keep; after an error, mend it and run it again",
      plan);
  if (!trains(job) && job.stall_abort_written)
    plan.warnings.emplace_back(
        "runtime.stall_abort_seconds has no effect on this machine: nothing ends a command that "
        "hangs; `dllaunch stacks RUN` tells where it does");
  keep_gpus_of(job.resources.device, plan.topology);
  auto gpus = gpus_to_use(job, static_cast<int>(plan.topology.gpus.size()), "this machine", plan);
  if (!gpus) return std::move(gpus).error().with_id("gpus");
  if (auto placed = place(job, *gpus, plan); !placed) return std::move(placed).error();
  if (!plan.placement.idle.empty()) plan.warnings.push_back(idle_words(plan.placement));

  if (auto good = enter_container(*gpus, job.resources.device, plan); !good)
    return std::move(good).error().with_id("container");

  plan.occupies = share_of_ranks(plan.topology, plan.placement);
  plan.start.shim = shim(plan);
  if (starts_by_mpirun(job, facts)) {
    plan.start.starter = "mpirun";
    plan.start.options = mpirun_options(plan);
  } else {
    plan.start.starter = paths.dllaunch;
    plan.start.options = {"spawn", "--np", std::to_string(plan.ranks()), "--"};
    // It does not label lines by rank, so each rank has its own log however many there are.
    std::erase(plan.start.shim, "--no-log");
  }
  return plan;
}

}  // namespace dllaunch
