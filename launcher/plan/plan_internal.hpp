// Shared by plan.cpp, plan_local.cpp and plan_slurm.cpp. Private to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// With more ranks, one log per node instead of one per rank.
constexpr int max_rank_logs = 256;

bool trains(const Job& job);

/// plan_local() and plan_slurm() build a plan in steps; each reads what earlier steps filled
/// in: begin_plan(), the topology, place(), enter_container(), sbatch options, the start
/// command, and with a cluster profile finish_plan().

/// A plan without placement and start command.
LaunchPlan begin_plan(const Job& job, const Paths& paths);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The variables the script exports: `defaults` and the job's own, each name once. The job's value
/// wins; null removes a default.
Variables exported(const JobEnvironment& job, Variables defaults);

/// task_dir, escaped for Slurm options that expand %.
std::string task_pattern(const LaunchPlan& plan);

/// The GPU kinds that the trainer supports and the job allows; empty if it computes on CPUs.
std::vector<std::string> trainer_gpus(const Job& job, const Paths& paths);

/// The number of GPUs per node that the job uses, where a node has `have`. `where`: "this machine",
/// "nodes of partition gpu". Warns if GPUs stay idle.
Result<int> gpus_to_use(const Job& job, int have, std::string_view where, LaunchPlan& plan);

/// Places the ranks on plan.topology; sets ranks_per_node, request, placement and warnings.
Result<Ok> place(const Job& job, int gpus, LaunchPlan& plan);

/// Which cores stay idle, why, and how to use them; for a placement that leaves some.
std::string idle_words(const Placement& placement);

/// Removes spare nodes; a warning says `why`.
void leave_out_spare_nodes(std::string_view why, LaunchPlan& plan);

/// Keeps no allocation after an error; a warning says `why`.
void leave_out_hold(std::string_view why, LaunchPlan& plan);

/// Whether another scheduler's starter gives a rank no means to identify itself to the shim.
bool tells_ranks_nothing(const LaunchPlan& plan);

/// dllaunch exec --run-dir RUN [--no-log] [--staged] [--framework NAME] --
std::vector<std::string> shim(const LaunchPlan& plan);

Result<LaunchPlan> plan_local(const Job& job, const Facts& facts, const Paths& paths);
Result<LaunchPlan> plan_slurm(const Job& job, const Facts& facts, const Paths& paths);

}  // namespace dllaunch
