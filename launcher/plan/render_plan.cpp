// The plan as text: where each rank runs, and the line that starts them.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/table.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/plan_internal.hpp"

namespace dllaunch {
namespace {

constexpr int most_rows = 16;  // above this, identical nodes are shown once

std::string gpus_of(const LaunchPlan& plan, const RankPlacement& rank) {
  std::string text;
  for (const int position : rank.gpus) {
    const auto& gpu = plan.topology.gpus[static_cast<std::size_t>(position)];
    if (!text.empty()) text += ", ";
    text +=
        gpu.pci.empty() ? std::to_string(gpu.index) : fmt::format("{} ({})", gpu.index, gpu.pci);
  }
  return text.empty() ? "-" : text;
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

TableRow row_of(const LaunchPlan& plan, int node, const RankPlacement& rank) {
  return {std::to_string(node * plan.ranks_per_node + rank.local_rank),
          std::to_string(node),
          gpus_of(plan, rank),
          plan.placement.policy == BindPolicy::none ? "any" : or_dash(to_list(rank.cpus)),
          or_dash(to_list(rank.numa)),
          or_dash(rank.nic)};
}

std::string count(int number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string heading(const LaunchPlan& plan) {
  const auto ranks = count(plan.ranks(), "rank");
  if (plan.launcher == Launcher::local)
    return fmt::format("{}: {} on this machine", plan.name, ranks);
  return fmt::format("{}: {} on {}, {} per node, through {}", plan.name, ranks, node_words(plan),
                     plan.ranks_per_node, plan.scheduler);
}

/// Why the start command has an option that reads like a mistake; empty: it has none.
std::string why_too_many(const LaunchPlan& plan) {
  const auto has = [&plan](std::string_view option) {
    return std::ranges::find(plan.start.options, option) != plan.start.options.end();
  };
  if (has("--oversubscribe"))
    return "  --oversubscribe: mpirun refuses more ranks than cores without it\n";
  if (has("--overcommit")) return "  --overcommit: srun refuses more ranks than CPUs without it\n";
  return "";
}

std::string sbatch_words(const LaunchPlan& plan) {
  std::vector<std::string> argv = {"sbatch"};
  for (const auto& [option, value] : plan.sbatch)
    argv.push_back(value.empty() ? option : fmt::format("{}={}", option, value));
  argv.insert(argv.end(), plan.sbatch_extra.begin(), plan.sbatch_extra.end());
  return shell_lines(argv, argv.size(), "    ");
}

}  // namespace

int RunOutline::ranks() const {
  if (components.empty()) return nodes * ranks_per_node;
  int sum = 0;
  for (const auto& component : components) sum += component.ranks();
  return sum;
}

std::string component_dir(const std::string& run_dir, const std::string& name) {
  return run_dir + "/components/" + name;
}

std::string node_words(const RunOutline& plan) {
  const auto& [spare, fewest] = std::pair(plan.recovery.spare_nodes, plan.recovery.min_nodes);
  return count(plan.nodes, "node") + (spare > 0 ? fmt::format(" + {} spare", spare) : "") +
         (fewest > 0 ? fmt::format(", at least {}", fewest) : "");
}

std::string render_plan(const LaunchPlan& plan) {
  const bool all = plan.ranks() <= most_rows;
  std::vector<TableRow> rows = {{"rank", "node", "GPU", "CPUs", "NUMA", "NIC"}};
  for (int node = 0; node < (all ? plan.nodes : 1); ++node)
    for (const auto& rank : plan.placement.ranks) rows.push_back(row_of(plan, node, rank));

  auto text = heading(plan) + "\n\n" + table_text(rows, "  ");
  if (!all && plan.nodes > 1)
    text += fmt::format("  nodes 1-{} alike: node n holds ranks n x {} to n x {} + {}\n",
                        plan.nodes - 1, plan.ranks_per_node, plan.ranks_per_node,
                        plan.ranks_per_node - 1);
  if (plan.launcher == Launcher::slurm)
    text += fmt::format("  topology: {}\n", origin_words(plan.origin));
  if (!plan.placement.reach.empty()) text += fmt::format("  cores: {}\n", plan.placement.reach);
  if (!plan.ring.empty()) text += fmt::format("  network: {}\n", plan.ring);
  if (!plan.transport.empty())
    text += fmt::format("  transport: {}, {}\n", plan.transport, plan.why_transport);
  if (!plan.profile.empty())
    text += fmt::format("  cluster: {}, profile {}\n", plan.cluster, plan.profile);
  for (const auto& line : describe_stage(plan.stage, !plan.train_json.empty(), plan.nodes))
    text += fmt::format("  stage: {}\n", line);
  if (!plan.suggested_modules.empty())
    text += fmt::format("  environment.modules is empty; the site suggests [{}]\n",
                        fmt::join(plan.suggested_modules, ", "));
  text += why_too_many(plan) + "\n";
  for (const auto& line : plan.before) text += line.empty() ? "\n" : "  " + line + "\n";
  text += fmt::format("  {}\n", shell_lines(plan.start.argv(), plan.start.shim_position(), "    "));
  if (!plan.sbatch.empty()) text += fmt::format("\n  {}\n", sbatch_words(plan));
  if (!plan.warnings.empty()) text += "\n";
  for (const auto& warning : plan.warnings) text += fmt::format("warning: {}\n", warning);
  return text;
}

}  // namespace dllaunch
