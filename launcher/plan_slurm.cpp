// Several nodes, started by srun inside a batch job.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "launcher/node_choice.hpp"
#include "launcher/plan_parts.hpp"
#include "launcher/shell_quote.hpp"
#include "topology/masks.hpp"

namespace dllaunch {
namespace {

/// srun's name for PMIx, which Open MPI needs: "pmix" where it is listed, else its newest version.
std::optional<std::string> pmix(const SlurmFacts& slurm) {
  std::optional<std::string> found;
  for (const auto& type : slurm.mpi_types) {
    if (type == "pmix") return type;
    if (type.starts_with("pmix_v") && (!found || type > *found)) found = type;
  }
  return found;
}

void choose_topology(const Facts& facts, const NodeChoice& nodes, LaunchPlan& plan) {
  auto known = known_topology(facts, nodes);
  plan.topology = std::move(known.topology);
  plan.exact = known.exact;
  plan.origin = std::move(known.origin);
  plan.warnings.insert(plan.warnings.end(), known.warnings.begin(), known.warnings.end());
}

/// A plan shows one kind of node; masks must be right on the others too, or be left to the shim.
void check_other_kinds(const Facts& facts, const NodeChoice& nodes, LaunchPlan& plan) {
  if (!plan.exact || same_on_every_kind(facts, nodes, plan.request, plan.placement)) return;
  plan.exact = false;
  // Otherwise said already, by the counts.
  if (nodes.uniform)
    plan.warnings.push_back(
        fmt::format("{} may be wired in several ways: this plan is for one, each rank binds on the "
                    "node it gets",
                    nodes.where));
}

/// In Slurm's CPUs, which are hardware threads; whole cores where that leaves a rank at least one.
int cpus_per_task(const Job& job, const NodeType& type, int gpus, int ranks_per_node) {
  const auto& resources = job.resources;
  const int threads = type.threads_per_core;
  if (!resources.exclusive && resources.cpus_per_rank) return *resources.cpus_per_rank * threads;
  // On a node shared with others a job takes CPUs in proportion to the GPUs it takes.
  const bool part = !resources.exclusive && gpus > 0 && gpus < type.gpus;
  const int usable = part ? type.cpus * gpus / type.gpus : type.cpus;
  const int share = std::max(1, usable / ranks_per_node);
  return share >= threads ? share - share % threads : share;
}

void add(LaunchPlan& plan, std::string option, std::string value = "") {
  plan.sbatch.emplace_back(std::move(option), std::move(value));
}

void fill_sbatch(const Job& job, int gpus, int tasks, int cpus_per_rank, LaunchPlan& plan) {
  const auto& resources = job.resources;
  const auto add_wish = [&plan](const char* option, const std::optional<std::string>& value) {
    if (value) add(plan, option, *value);
  };
  add(plan, "--job-name", job.name);
  add(plan, "--nodes", std::to_string(plan.nodes));
  add(plan, "--ntasks-per-node", std::to_string(tasks));
  add(plan, "--cpus-per-task", std::to_string(cpus_per_rank));
  if (gpus > 0) add(plan, "--gpus-per-node", std::to_string(gpus));
  add_wish("--time", resources.time);
  add_wish("--partition", resources.partition);
  add_wish("--account", resources.account);
  add_wish("--qos", resources.qos);
  add_wish("--reservation", resources.reservation);
  add_wish("--constraint", resources.constraint);
  add_wish("--exclude", resources.exclude);
  if (resources.exclusive) add(plan, "--exclusive");
  add(plan, "--signal", fmt::format("B:{}@{}", plan.signal, plan.grace_seconds));
  add(plan, "--open-mode", "append");
  add(plan, "--no-requeue");
  add(plan, "--output", escape_file_pattern(plan.paths.run_dir) + "/slurm-%j.out");
  plan.sbatch_extra = resources.sbatch_extra;
}

/// Masks only where they are sure to fit: srun refuses one outside the step's CPUs, and with
/// --cpus-per-task a step has no more than its tasks' share. Elsewhere the shim binds.
std::string cpu_bind(const Job& job, const NodeChoice& nodes, int cpus_per_rank,
                     const LaunchPlan& plan) {
  // More CPUs than Slurm gives out: some of them are its own, and we do not know which.
  const auto usable = (plan.topology.allowed_cpus & plan.topology.cpus()).size();
  const bool sure = job.resources.exclusive && plan.exact && nodes.uniform &&
                    usable <= nodes.shape.cpus &&
                    cpus_per_rank * plan.ranks_per_node == nodes.shape.cpus;
  return sure ? srun_cpu_bind(plan.placement) : "none";
}

std::vector<std::string> srun(const Job& job, const std::string& mpi, int cpus_per_rank,
                              const std::string& bind, bool overcommit, const LaunchPlan& plan) {
  std::vector<std::string> argv = {"srun",
                                   "--mpi=" + mpi,
                                   fmt::format("--nodes={}", plan.nodes),
                                   fmt::format("--ntasks={}", plan.ranks()),
                                   fmt::format("--ntasks-per-node={}", plan.ranks_per_node),
                                   fmt::format("--cpus-per-task={}", cpus_per_rank),
                                   "--cpu-bind=" + bind,
                                   "--kill-on-bad-exit=1",
                                   "--wait=60",
                                   "--export=ALL"};
  if (overcommit) argv.emplace_back("--overcommit");
  if (plan.ranks() > max_rank_logs) {
    argv.emplace_back("--label");
    argv.push_back("--output=" + escape_file_pattern(plan.paths.run_dir) + "/out/%N.log");
  }
  argv.insert(argv.end(), job.resources.srun_extra.begin(), job.resources.srun_extra.end());
  return argv;
}

/// Open MPI's own start, for a Slurm without PMIx: its daemons are started by srun.
std::vector<std::string> mpirun(bool oversubscribe, const LaunchPlan& plan) {
  std::vector<std::string> argv = {"mpirun",
                                   "--np",
                                   std::to_string(plan.ranks()),
                                   "--map-by",
                                   fmt::format("ppr:{}:node", plan.ranks_per_node),
                                   "--bind-to",
                                   "none"};
  if (oversubscribe) argv.emplace_back("--oversubscribe");
  if (plan.ranks() > max_rank_logs) argv.emplace_back("--tag-output");
  for (const auto& [name, value] : plan.environment) {
    argv.emplace_back("-x");
    argv.push_back(name);
  }
  argv.emplace_back("--");
  return argv;
}

}  // namespace

Result<LaunchPlan> plan_slurm(const Job& job, const Facts& facts, const Paths& paths) {
  if (paths.run_dir.find('\\') != std::string::npos)
    return Error{ErrorKind::bad_request,
                 fmt::format("the run directory '{}' has a backslash in its name, which Slurm's "
                             "--output cannot have",
                             paths.run_dir),
                 "use --run-dir with another name"};
  const bool wants_gpus = job.resources.device != "cpu" && !trains(job);
  auto nodes = choose_nodes(job.resources, *facts.slurm, wants_gpus);
  if (!nodes) return std::move(nodes).error();

  auto plan = begin_plan(job, paths);
  plan.launcher = Launcher::slurm;
  plan.warnings = nodes->warnings;
  choose_topology(facts, *nodes, plan);
  const auto gpus = gpus_to_use(job, nodes->shape.gpus, nodes->where, plan);
  if (!gpus) return gpus.error();
  if (auto placed = place(job, *gpus, plan); !placed) return std::move(placed).error();
  check_other_kinds(facts, *nodes, plan);

  const int share = cpus_per_task(job, nodes->shape, *gpus, plan.ranks_per_node);
  const bool overcommit = share * plan.ranks_per_node > nodes->shape.cpus;
  if (overcommit && job.resources.cpus_per_rank)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("asked for {} CPUs per node, {} have {}", share * plan.ranks_per_node,
                             nodes->where, nodes->shape.cpus),
                 "lower resources.cpus_per_rank or resources.ranks_per_node"};
  // sbatch takes no more tasks than CPUs, with --overcommit neither (22.05); srun does.
  fill_sbatch(job, *gpus, overcommit ? nodes->shape.cpus : plan.ranks_per_node, share, plan);

  const auto plugin = pmix(*facts.slurm);
  if (!plugin && trains(job) && plan.ranks() > 1) {
    plan.warnings.emplace_back("srun has no PMIx here: mpirun starts the ranks inside the job");
    plan.start = mpirun(overcommit, plan);
  } else {
    const auto bind = cpu_bind(job, *nodes, share, plan);
    plan.start = srun(job, plugin.value_or("none"), share, bind, overcommit, plan);
  }
  const auto command = shim(plan);
  plan.start.insert(plan.start.end(), command.begin(), command.end());
  return plan;
}

}  // namespace dllaunch
