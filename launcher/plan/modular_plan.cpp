#include "launcher/plan/modular_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/slurm/placing_option.hpp"

namespace dllaunch {
namespace {

std::string within(const std::string& name, std::string_view what) {
  return fmt::format("component {}: {}", name, what);
}

/// What srun cannot do for a part of a heterogeneous job, or we not yet.
Result<Ok> check_component(const std::string& name, const LaunchPlan& plan) {
  if (plan.scheduler != "Slurm")
    return Error{ErrorKind::unavailable,
                 fmt::format("{} is run by {}, and components need Slurm's heterogeneous jobs",
                             plan.cluster, plan.scheduler),
                 "one job file for each component"};
  if (plan.launcher != Launcher::slurm) return Ok{};
  if (!plan.start.starts_by_srun())
    return Error{ErrorKind::unavailable,
                 within(name,
                        "srun has no MPI plug-in here, and mpirun would take the first "
                        "component's nodes"),
                 "runtime.transport: tcp, if its ranks do without MPI"};
  if (plan.stage.wanted())
    return Error{ErrorKind::bad_request,
                 within(name, "stage does not reach the nodes of a component"),
                 "copy in environment.setup or in the command itself"};
  if (plan.recovery.spare_nodes > 0)
    return Error{ErrorKind::bad_request,
                 within(name, "recovery.spare_nodes does not combine with components"),
                 "remove it: a job that loses a node is requeued as a whole"};
  if (plan.recovery.hold_seconds > 0)
    return Error{ErrorKind::bad_request,
                 within(name, "recovery.hold_on_error does not combine with components"),
                 "remove it: the other components would wait, and be charged, too"};
  if (plan.recovery.elastic())
    return Error{ErrorKind::bad_request,
                 within(name, "recovery.min_nodes does not combine with components"),
                 "give resources.nodes one number: a job that loses a node is requeued as a whole"};
  return Ok{};
}

std::string value_of(const LaunchPlan& plan, std::string_view option) {
  for (const auto& [name, value] : plan.sbatch)
    if (name == option) return value;
  return "";
}

/// The options by which others recognise and follow the job.
std::vector<std::pair<std::string, std::string>> outline_options(
    const LaunchPlan& whole, const std::vector<ComponentPlan>& components) {
  const auto& first = components.front().plan;
  std::vector<std::pair<std::string, std::string>> options = {
      {"--job-name", value_of(first, "--job-name")}};
  if (auto time = value_of(first, "--time"); !time.empty()) options.emplace_back("--time", time);
  options.emplace_back("--signal", fmt::format("B:{}@{}", whole.signal, whole.grace_seconds));
  options.emplace_back("--output", escape_file_pattern(whole.paths.run_dir) + "/slurm-%j.out");
  return options;
}

/// As its supervisor will decide.
bool goes_along_network(const LaunchPlan& plan) {
  return plan.launcher == Launcher::slurm && plan.nodes > 1 &&
         plan.network_order == NodeNumbering::automatic &&
         placing_option(plan.start.options, static_cast<std::size_t>(plan.nodes)).empty();
}

LaunchPlan whole_of(const Job& job, const Paths& paths,
                    const std::vector<ComponentPlan>& components) {
  const auto& first = components.front().plan;
  LaunchPlan whole;
  whole.name = job.name;
  whole.launcher = first.launcher;
  whole.paths = paths;
  whole.cluster = job.cluster;
  whole.network = first.network;
  whole.share = job.share;
  whole.after = job.after;
  whole.signal = first.signal;
  whole.asks_ranks = false;
  whole.grace_seconds = 0;
  whole.nodes = 0;
  whole.recovery.requeue_on = {.timeout = false, .preempted = false, .node_fail = false};
  for (const auto& [name, ends_job, plan] : components) {
    whole.components.push_back({.name = name,
                                .ends_job = ends_job,
                                .nodes = plan.nodes,
                                .ranks_per_node = plan.ranks_per_node,
                                .signal = plan.asks_ranks ? plan.signal : "",
                                .host_suffix = plan.host_suffix,
                                .along_network = goes_along_network(plan),
                                .occupies = plan.occupies});
    whole.nodes += plan.nodes;
    whole.asks_ranks = whole.asks_ranks || plan.asks_ranks;
    whole.grace_seconds = std::max(whole.grace_seconds, plan.grace_seconds);
    auto& on = whole.recovery.requeue_on;
    on.timeout = on.timeout || plan.recovery.requeue_on.timeout;
    on.preempted = on.preempted || plan.recovery.requeue_on.preempted;
    on.node_fail = on.node_fail || plan.recovery.requeue_on.node_fail;
    for (const auto& warning : plan.warnings) whole.warnings.push_back(within(name, warning));
    if (plan.ranks_per_node > ports_of_component)
      whole.warnings.push_back(within(
          name, fmt::format("{} ranks a node, and {} ports: the next component's begin there",
                            plan.ranks_per_node, ports_of_component)));
  }
  if (whole.launcher == Launcher::local) whole.nodes = 1;
  if (whole.launcher == Launcher::slurm) whole.sbatch = outline_options(whole, components);
  return whole;
}

}  // namespace

Result<ModularPlan> join_plans(const Job& job, const Paths& paths, std::vector<LaunchPlan> plans) {
  std::vector<ComponentPlan> components;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto& [name, ends_job, its_job] = job.components[i];
    if (auto good = check_component(name, plans[i]); !good) return std::move(good).error();
    auto& options = plans[i].start.options;
    if (plans[i].launcher == Launcher::slurm)
      options.insert(options.begin(), fmt::format("--het-group={}", i));
    components.push_back({name, ends_job, std::move(plans[i])});
  }
  auto whole = whole_of(job, paths, components);
  // The first component's script writes into that of the job.
  for (auto& [option, value] : components.front().plan.sbatch)
    if (option == "--output") value = value_of(whole, option);
  return ModularPlan{std::move(whole), std::move(components)};
}

Json to_json(const ModularPlan& plan) {
  auto document = to_json(plan.whole);
  // What only an ordinary job has.
  for (const char* key : {"topology", "node", "binding", "srun", "placement", "mpirun"})
    document.erase(key);
  auto components = Json::array();
  for (const auto& component : plan.components) {
    auto own = to_json(component.plan);
    own["name"] = component.name;
    own["ends_job"] = component.ends_job;
    components.push_back(std::move(own));
  }
  document["components"] = std::move(components);
  return document;
}

std::string render_plan(const ModularPlan& plan) {
  const bool local = plan.whole.launcher == Launcher::local;
  auto text =
      fmt::format("{}: {} components, {}\n", plan.whole.name, plan.components.size(),
                  local ? "side by side on this machine" : "in one heterogeneous job of Slurm");
  for (const auto& component : plan.components) {
    text += fmt::format("\ncomponent {}{}\n", component.name,
                        component.ends_job ? ", which ends the job when it has completed" : "");
    text += render_plan(component.plan);
  }
  return text;
}

std::vector<std::string> sbatch_arguments(const ModularPlan& plan, std::size_t component) {
  LaunchPlan own = plan.components[component].plan;
  const bool first = component == 0;
  for (auto& [option, value] : own.sbatch) {
    if (option == "--signal" && first) value = value_of(plan.whole, "--signal");
    // Slurm requeues the components together.
    if (option == "--requeue" || option == "--no-requeue")
      option = plan.whole.recovery.requeue_on.any() ? "--requeue" : "--no-requeue";
  }
  if (!first) std::erase_if(own.sbatch, [](const auto& one) { return one.first == "--signal"; });
  return sbatch_arguments(own);
}

}  // namespace dllaunch
