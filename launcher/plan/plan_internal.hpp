// What plan.cpp, plan_local.cpp and plan_slurm.cpp share. Nobody else includes this.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// Above so many ranks the output goes to one log a node instead of one a rank.
constexpr int max_rank_logs = 256;

bool trains(const Job& job);

/// A plan is made in steps, each of which reads what those before it filled in: begin_plan(), the
/// topology, place(), enter_container(), sbatch's options, the start command, and with a cluster
/// profile finish_plan(). plan_local() and plan_slurm() are these lists.

/// Plans that say everything but where the ranks go and what starts them.
LaunchPlan begin_plan(const Job& job, const Paths& paths);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// What the script exports: `defaults` and the job's own, each name once. The job's value wins, and
/// its null takes a default out.
Variables exported(const JobEnvironment& job, Variables defaults);

/// task_dir for options of Slurm's in which % means something.
std::string task_pattern(const LaunchPlan& plan);

/// Kinds of GPU that the trainer drives and the job lets it: none, where it computes on CPUs.
std::vector<std::string> trainer_gpus(const Job& job, const Paths& paths);

/// How many GPUs of each node the job uses, where a node has `have` ("this machine",
/// "nodes of partition gpu"). Adds a warning where GPUs stay idle.
Result<int> gpus_to_use(const Job& job, int have, std::string_view where, LaunchPlan& plan);

/// Places the ranks on plan.topology and fills ranks_per_node, request, placement and warnings.
Result<Ok> place(const Job& job, int gpus, LaunchPlan& plan);

/// Which cores stay idle, why, and what to write to use them; for a placement that leaves some.
std::string idle_words(const Placement& placement);

/// Where there can be none; a warning tells `why`.
void leave_out_spare_nodes(std::string_view why, LaunchPlan& plan);

/// Another scheduler's start from which the shim could not learn who a rank is.
bool tells_ranks_nothing(const LaunchPlan& plan);

/// dllaunch exec --run-dir RUN [--no-log] [--staged] [--framework NAME] --
std::vector<std::string> shim(const LaunchPlan& plan);

Result<LaunchPlan> plan_local(const Job& job, const Facts& facts, const Paths& paths);
Result<LaunchPlan> plan_slurm(const Job& job, const Facts& facts, const Paths& paths);

}  // namespace dllaunch
