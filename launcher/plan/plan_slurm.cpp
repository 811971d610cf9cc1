// Plans for several nodes, started by srun inside a batch job.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/job/recovery.hpp"
#include "launcher/plan/container.hpp"
#include "launcher/plan/cpus_per_task.hpp"
#include "launcher/plan/mpi_plugin.hpp"
#include "launcher/plan/node_memory.hpp"
#include "launcher/plan/node_selection.hpp"
#include "launcher/plan/node_share.hpp"
#include "launcher/plan/plan_internal.hpp"
#include "launcher/plan/sbatch_overrides.hpp"
#include "launcher/plan/transport_plan.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/placing_option.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "topology/network/network_order.hpp"
#include "topology/network/ring_words.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

/// The profile's plugin, unless srun does not list it.
std::string mpi_of_profile(const ClusterProfile& profile, const SlurmFacts& slurm) {
  const auto& listed = slurm.mpi_types;
  const bool there = std::find(listed.begin(), listed.end(), profile.mpi) != listed.end();
  return listed.empty() || there ? profile.mpi : "";
}

void choose_topology(const Facts& facts, const NodeSelection& nodes, LaunchPlan& plan) {
  auto known = known_topology(facts, nodes);
  plan.topology = std::move(known.topology);
  plan.exact = known.exact;
  plan.origin = std::move(known.origin);
  plan.warnings.insert(plan.warnings.end(), known.warnings.begin(), known.warnings.end());
}

/// A plan shows one node type. Its masks must fit the others, or binding is left to the shim.
void check_other_kinds(const Job& job, const Facts& facts, const NodeSelection& nodes,
                       LaunchPlan& plan) {
  // Slurm selects the CPUs of a partial node when the job starts.
  if (!job.resources.exclusive) plan.exact = false;
  if (!plan.exact || same_on_every_kind(facts, nodes, plan.request, plan.placement)) return;
  plan.exact = false;
  // Otherwise the counts have reported it.
  if (nodes.uniform)
    plan.warnings.push_back(
        fmt::format("{} may be wired in several ways: this plan is for one, each rank binds on the "
                    "node it gets",
                    nodes.where));
}

/// Now that the ranks and GPUs of a node are known.
Result<Ok> check_memory_of(const Job& job, const NodeSelection& nodes, int gpus,
                           const LaunchPlan& plan) {
  const auto& memory = job.resources.memory;
  if (!memory) return Ok{};
  if (memory->per == MemoryPer::gpu && gpus == 0)
    return Error{ErrorKind::bad_request, "resources.memory.per_gpu: the job asks for no GPU",
                 "use resources.memory.per_rank or per_node, or ask for GPUs"};
  NodeChoice choice{.where = nodes.where, .wanted = plan.nodes + plan.recovery.spare_nodes};
  choice.kinds.emplace_back(&nodes.shape, static_cast<int>(nodes.hosts.size()));
  for (const auto& type : nodes.others)
    choice.kinds.emplace_back(&type, static_cast<int>(type.hosts.size()));
  return check_memory(*memory, {.ranks = plan.ranks_per_node, .gpus = gpus}, choice);
}

/// What each task gets, in units of --cpus-per-task.
struct TaskCpus {
  int count = 1;
  CpusPerTaskUnit counting = {};
  bool asked_for = true;  // otherwise the ranks share what Slurm gives the job
};

/// Whole cores, if each rank gets at least one.
int cpus_per_task(const Job& job, const CpusPerTaskUnit& cpus, int gpus_of_node, int gpus,
                  int ranks_per_node) {
  const auto& resources = job.resources;
  if (!resources.exclusive && resources.cpus_per_rank) return *resources.cpus_per_rank * cpus.core;
  // On a shared node a job takes CPUs in proportion to its GPUs.
  const bool part = !resources.exclusive && gpus > 0 && gpus < gpus_of_node;
  const int usable = part ? cpus.usable * gpus / gpus_of_node : cpus.usable;
  const int share = std::max(1, usable / ranks_per_node);
  return share >= cpus.core ? share - share % cpus.core : share;
}

/// The CPUs of an example's node are nobody's: real nodes with fewer could never start such a job.
TaskCpus cpus_on_any_cluster(const Job& job, const CpusPerTaskUnit& unit) {
  const auto& cores = job.resources.cpus_per_rank;
  return {.count = cores.value_or(1) * unit.core, .counting = unit, .asked_for = cores.has_value()};
}

/// On a partial node Slurm chooses the cores, so the others are unknown.
void warn_of_idle_cores(const Job& job, const ClusterProfile* profile, const TaskCpus& cpus,
                        LaunchPlan& plan) {
  if (!job.resources.exclusive || plan.placement.idle.empty()) return;
  auto warning = idle_words(plan.placement);
  if (profile == nullptr || profile->scheduler == "slurm")
    warning += fmt::format(
        " (--cpus-per-task={} counts them all the same: a step that asks for fewer does not get "
        "the whole node)",
        cpus.count);
  plan.warnings.push_back(std::move(warning));
}

/// Whether text is a job id, 123, or an array task, 123_4. Otherwise it names a run, resolved by
/// `dllaunch run`.
bool is_job_id(std::string_view text) {
  return !text.empty() && text.front() != '_' && text.back() != '_' &&
         std::count(text.begin(), text.end(), '_') <= 1 &&
         text.find_first_not_of("0123456789_") == std::string_view::npos;
}

/// afterok:17:18_2; empty if no dependency has a job id.
std::string dependency(LaunchPlan& plan) {
  std::string value;
  for (const auto& before : plan.after) {
    if (is_job_id(before))
      value += (value.empty() ? "afterok:" : ":") + before;
    else
      plan.warnings.push_back(fmt::format(
          "after: the job of '{}' is looked up by `dllaunch run`; here nothing waits for it",
          before));
  }
  return value;
}

/// Slurm names an array's output after its job and task.
std::string output_pattern(const LaunchPlan& plan) {
  return escape_file_pattern(plan.paths.run_dir) +
         (plan.array ? "/slurm-%A_%a.out" : "/slurm-%j.out");
}

std::string gpus_asked_for(const Job& job, const NodeType& type, int gpus) {
  if (gpus == 0) return {};
  const auto wanted = wanted_gpu_type(job.resources.sbatch_extra);
  return gpu_request(type.gpu_gres, wanted == type.gpu_type ? wanted : "", gpus);
}

/// Where in the network.
OptionLines placement_options(const Resources& resources) {
  OptionLines lines;
  if (resources.segment) lines.emplace_back("--segment", std::to_string(*resources.segment));
  if (resources.switches) {
    auto value = std::to_string(*resources.switches);
    if (resources.switches_wait) value += "@" + *resources.switches_wait;
    lines.emplace_back("--switches", std::move(value));
  }
  if (resources.spread) lines.emplace_back("--spread-job", "");
  return lines;
}

/// `gpus`: per node, in the syntax of --gpus-per-node; empty: none.
void fill_sbatch(const Job& job, const std::string& gpus, int tasks, const TaskCpus& cpus,
                 LaunchPlan& plan) {
  const auto& resources = job.resources;
  OptionLines lines;
  const auto add = [&lines](const char* option, std::string value = "") {
    lines.emplace_back(option, std::move(value));
  };
  const auto add_wish = [&add](const char* option, const std::optional<std::string>& value) {
    if (value) add(option, *value);
  };
  add("--job-name", job.name);
  const auto nodes = std::to_string(plan.nodes + plan.recovery.spare_nodes);
  const bool elastic = plan.recovery.elastic();
  add("--nodes", elastic ? fmt::format("{}-{}", plan.recovery.min_nodes, nodes) : nodes);
  // Otherwise Slurm ends the job when any node fails.
  if (plan.recovery.spare_nodes > 0 || elastic) add("--no-kill");
  if (elastic) {
    // With tasks per node, 22.05 gives the fewest nodes, however many are free.
    add("--mincpus", std::to_string(tasks * cpus.count));
  } else {
    add("--ntasks-per-node", std::to_string(tasks));
    if (cpus.asked_for) add("--cpus-per-task", std::to_string(cpus.count));
  }
  if (const auto& threads = cpus.counting.threads_per_core; !threads.empty())
    add("--threads-per-core", threads);
  if (!gpus.empty()) add("--gpus-per-node", gpus);
  add_wish("--time", resources.time);
  add_wish("--partition", resources.partition);
  add_wish("--account", resources.account);
  add_wish("--qos", resources.qos);
  add_wish("--reservation", resources.reservation);
  add_wish("--constraint", resources.constraint);
  add_wish("--exclude", resources.exclude);
  for (auto& option : placement_options(resources)) lines.push_back(std::move(option));
  if (resources.exclusive) add("--exclusive");
  if (resources.memory)
    lines.push_back(memory_option(*resources.memory, plan.ranks_per_node));
  else if (resources.exclusive)
    add("--mem", "0");  // all of a node's memory, not a default share
  add_wish("--array", plan.array);
  if (auto before = dependency(plan); !before.empty()) {
    add("--dependency", std::move(before));
    add("--kill-on-invalid-dep", "yes");
  }
  add("--signal", fmt::format("B:{}@{}", plan.signal, plan.grace_seconds));
  // The job file also decides whether Slurm may requeue.
  add(plan.recovery.requeue_on.any() ? "--requeue" : "--no-requeue");
  add("--open-mode", "append");
  add("--output", output_pattern(plan));
  auto edited = override_sbatch(std::move(lines), resources.sbatch_extra);
  plan.sbatch = std::move(edited.ours);
  plan.sbatch_extra = std::move(edited.more);
  for (auto& warning : edited.warnings) plan.warnings.push_back(std::move(warning));
}

/// Of a whole node what Slurm gives out; unknown if Slurm may give another kind.
NodeShare share_of_job(const NodeSelection& nodes, const TaskCpus& cpus, int gpus,
                       const LaunchPlan& plan) {
  if (!nodes.uniform) return {};
  const bool whole = std::ranges::any_of(
      plan.sbatch, [](const auto& option) { return option.first == "--exclusive"; });
  const auto& unit = cpus.counting;
  const int used = whole ? unit.usable : std::min(unit.usable, cpus.count * plan.ranks_per_node);
  const int devices = devices_of(plan.topology, plan.placement);
  return {.cores = (used + unit.core - 1) / unit.core, .gpus = devices > 0 ? devices : gpus};
}

/// Masks only where they are certain to fit: srun refuses masks outside the step's CPUs, and with
/// --cpus-per-task a step has only its tasks' share. Elsewhere the shim binds.
std::string cpu_bind(const Job& job, const NodeSelection& nodes, const TaskCpus& cpus,
                     const LaunchPlan& plan) {
  // More CPUs than Slurm gives out: it reserves some, and which is unknown.
  const auto usable = (plan.topology.allowed_cpus & plan.topology.cpus()).size();
  const bool sure = job.resources.exclusive && plan.exact && nodes.uniform &&
                    usable <= nodes.shape.cpus &&
                    cpus.count * plan.ranks_per_node == cpus.counting.usable;
  return sure ? srun_cpu_bind(plan.placement) : "none";
}

std::vector<std::string> srun_options(const Job& job, const std::string& mpi, const TaskCpus& cpus,
                                      const std::string& bind, bool overcommit, LaunchPlan& plan) {
  OptionLines lines = {{"--mpi", mpi},
                       {"--nodes", std::to_string(plan.nodes)},
                       {"--ntasks", std::to_string(plan.ranks())},
                       {"--ntasks-per-node", std::to_string(plan.ranks_per_node)},
                       {"--cpu-bind", bind},
                       // Of ranks that save when asked to, the first to leave must not end the
                       // others: the supervisor ends these when one dies otherwise.
                       {"--kill-on-bad-exit", plan.asks_ranks && !trains(job) ? "0" : "1"},
                       // A rank that is still saving must not be killed because others are done.
                       {"--wait", "0"},
                       {"--export", "ALL"}};
  // Without it a step has all CPUs of the job.
  if (cpus.asked_for)
    lines.emplace(lines.begin() + 4, "--cpus-per-task", std::to_string(cpus.count));
  if (const auto& threads = cpus.counting.threads_per_core; !threads.empty())
    lines.emplace_back("--threads-per-core", threads);
  if (overcommit) lines.emplace_back("--overcommit", "");
  if (plan.ranks() > max_rank_logs) {
    lines.emplace_back("--label", "");
    lines.emplace_back("--output", task_pattern(plan) + "/out/%N.log");
    lines.emplace_back("--open-mode", "append");
  }
  for (auto& line : pyxis_options(plan)) lines.push_back(std::move(line));
  auto edited = override_srun(std::move(lines), job.resources.srun_extra);
  for (auto& warning : edited.warnings) plan.warnings.push_back(std::move(warning));
  std::vector<std::string> options;
  for (const auto& line : edited.ours) options.push_back(option_word(line));
  options.insert(options.end(), edited.more.begin(), edited.more.end());
  plan.start.users = edited.more.size();
  return options;
}

/// Selects the fence by which slurmstepds agree that all ranks have arrived. For few bytes Slurm
/// uses a tree, which occasionally releases a node before another has arrived (Slurm 22.05 with
/// PMIx 4.2: in 39 of 200 starts on a busy machine; with a ring in none). The node's first message
/// then finds an Open MPI without a receiver, and that rank dies of SIGSEGV in MPI_Init.
void choose_fence(const Job& job, std::string_view mpi, LaunchPlan& plan) {
  const std::string name = "SLURM_PMIX_FENCE";
  const auto& others = job.environment.left_alone;
  const bool theirs = std::ranges::find(others, name) != others.end() ||
                      std::ranges::any_of(plan.environment, [&name](const auto& variable) {
                        return variable.first == name;
                      });
  if (plan.nodes > 1 && mpi.starts_with("pmix") && !theirs) {
    plan.environment.emplace_back(name, "ring");
  }
}

/// Open MPI's own start, for a Slurm without PMIx: srun starts its daemons.
std::vector<std::string> mpirun_options(bool oversubscribe, const LaunchPlan& plan) {
  std::vector<std::string> options = {"--np",      std::to_string(plan.ranks()),
                                      "--map-by",  fmt::format("ppr:{}:node", plan.ranks_per_node),
                                      "--bind-to", "none"};
  const auto export_variable = [&options](const std::string& name) {
    options.insert(options.end(), {"-x", name});
  };
  if (oversubscribe) options.emplace_back("--oversubscribe");
  if (plan.ranks() > max_rank_logs) options.emplace_back("--tag-output");
  for (const auto& [name, value] : plan.environment) export_variable(name);
  if (plan.stage.wanted()) export_variable("DLLAUNCH_STAGE");
  export_variable(fencing_token_variable);
  if (plan.train_json.empty()) export_variable(heartbeat_variable);
  options.emplace_back("--");
  return options;
}

/// srun's --nodelist keeps ranks off spare nodes; the script's own node cannot be left out.
void check_spare_nodes(bool by_mpirun, LaunchPlan& plan) {
  if (by_mpirun)
    leave_out_spare_nodes("mpirun, which starts the ranks here, cannot leave a node out", plan);
  if (plan.recovery.spare_nodes > 0 && plan.nodes == 1)
    plan.warnings.push_back(
        "recovery.spare_nodes: the job's script runs on the only node of its ranks: if that node "
        "is lost, the job is requeued; a spare node helps only if it is unfit");
}

/// Which nodes the job gets is not known: those that Slurm lists first are an example.
std::string ring_of(const Job& job, const Facts& facts, std::vector<std::string> hosts, int nodes) {
  const bool wanted = job.binding.network_order == NodeNumbering::automatic && nodes > 1;
  const auto& of_slurm = facts.slurm->network;
  const auto& network = of_slurm.units.empty() && facts.profile ? facts.profile->network : of_slurm;
  hosts.resize(std::min(hosts.size(), static_cast<std::size_t>(nodes)));
  const bool theirs =
      !placing_option(job.resources.srun_extra, static_cast<std::size_t>(nodes)).empty() ||
      std::ranges::any_of(job.resources.sbatch_extra, [](const auto& line) {
        const auto option = option_of_line(line);
        return option && option->first == "--distribution";
      });
  if (!wanted || theirs || hosts.size() < 2 || !why_not_ordered(network, hosts).empty()) return "";
  const auto order = network_order(network, hosts, {hosts.front()});
  const auto words = ring_words(level_crossings(network, hosts, order), hosts.size());
  return fmt::format("ranks follow {}{}", network.source,
                     words.empty() ? "" : fmt::format("; on {}, {}", compress_hosts(hosts), words));
}

/// `plugin`: srun's; nullopt: mpirun starts the ranks.
void choose_start(const std::optional<std::string>& plugin, const Job& job,
                  const NodeSelection& nodes, const TaskCpus& cpus, bool overcommit,
                  LaunchPlan& plan) {
  if (plugin) {
    const auto bind = cpu_bind(job, nodes, cpus, plan);
    plan.start.starter = "srun";
    plan.start.options = srun_options(job, *plugin, cpus, bind, overcommit, plan);
    choose_fence(job, *plugin, plan);
  } else {
    plan.warnings.push_back(
        fmt::format("srun has no {} here: mpirun starts the ranks inside the job",
                    trains(job) ? "PMIx" : "MPI plug-in"));
    plan.start.starter = "mpirun";
    plan.start.options = mpirun_options(overcommit, plan);
  }
  plan.start.shim = shim(plan);
}

}  // namespace

Result<LaunchPlan> plan_slurm(const Job& job, const Facts& facts, const Paths& paths) {
  if (paths.run_dir.find('\\') != std::string::npos)
    return Error{ErrorKind::bad_request,
                 fmt::format("the run directory '{}' has a backslash in its name, which Slurm's "
                             "--output cannot have",
                             paths.run_dir),
                 "use --run-dir with another name", "run-dir"};
  const bool wants_gpus =
      job.resources.device != "cpu" && (!trains(job) || !trainer_gpus(job, paths).empty());
  auto nodes = select_nodes(job, *facts.slurm, wants_gpus);
  if (!nodes) return std::move(nodes).error();

  auto plan = begin_plan(job, paths);
  plan.launcher = Launcher::slurm;
  plan.warnings = nodes->warnings;
  if (!paths.files.empty())
    leave_out_hold("others can replace the run's directory, and orders lie there", plan);
  if (facts.profile) plan.mpi = mpi_of_profile(*facts.profile, *facts.slurm);
  choose_topology(facts, *nodes, plan);
  auto gpus = gpus_to_use(job, nodes->shape.gpus, nodes->where, plan);
  if (!gpus) {
    auto error = std::move(gpus).error().with_id("gpus");
    if (wants_gpus && facts.slurm->any_cluster && nodes->shape.gpus == 0)
      error.hint = "use --cluster generic-nvidia or --cluster generic-amd";
    return error;
  }
  if (auto placed = place(job, *gpus, plan); !placed) return std::move(placed).error();
  if (auto enough = check_memory_of(job, *nodes, *gpus, plan); !enough)
    return std::move(enough).error();
  check_other_kinds(job, facts, *nodes, plan);
  plan.ring = ring_of(job, facts, nodes->hosts, plan.nodes);
  plan.pyxis = plan.container && plan.container->runtime == "enroot" && facts.slurm->pyxis;
  if (auto good = enter_container(*gpus, job.resources.device, plan); !good)
    return std::move(good).error().with_id("container");

  const bool anywhere = facts.slurm->any_cluster;
  const bool in_cores = anywhere ? job.resources.cpus_per_rank.has_value()
                                 : facts.profile && facts.profile->cpus_are_cores;
  TaskCpus cpus{.counting = cpus_per_task_unit(job, in_cores, nodes->shape)};
  if (anywhere) {
    cpus = cpus_on_any_cluster(job, cpus.counting);
  } else {
    cpus.count = cpus_per_task(job, cpus.counting, nodes->shape.gpus, *gpus, plan.ranks_per_node);
    warn_of_idle_cores(job, facts.profile.get(), cpus, plan);
  }
  const int wanted = cpus.count * plan.ranks_per_node;
  const bool overcommit = wanted > cpus.counting.usable;
  if (overcommit && job.resources.cpus_per_rank)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("asked for {} CPUs per node, {} have {}", wanted, nodes->where,
                             cpus.counting.usable),
                 "lower resources.cpus_per_rank or resources.ranks_per_node"};
  const auto transport = wanted_transport(job);
  const bool no_mpi = starts_without_mpi(job, facts);
  const auto plugin = no_mpi        ? std::nullopt
                      : trains(job) ? mpi_of_trainer(*facts.slurm)
                                    : mpi_of_command(*facts.slurm, plan.mpi);
  const bool by_mpi = !no_mpi && (transport == "mpi" || meets_over_mpi(job));
  const bool by_mpirun = !plugin && by_mpi && plan.ranks() > 1;
  check_spare_nodes(by_mpirun, plan);
  // sbatch refuses more tasks than CPUs even with --overcommit (22.05); srun accepts them.
  fill_sbatch(job, gpus_asked_for(job, nodes->shape, *gpus),
              overcommit ? cpus.counting.usable : plan.ranks_per_node, cpus, plan);
  plan.occupies = share_of_job(*nodes, cpus, *gpus, plan);
  choose_start(by_mpirun ? std::nullopt : std::optional(plugin.value_or("none")), job, *nodes, cpus,
               overcommit, plan);
  return plan;
}

}  // namespace dllaunch
