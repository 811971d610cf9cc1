#include "launcher/supervise/start_nodes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launcher/slurm/host_list.hpp"
#include "launcher/supervise/node_order.hpp"

namespace dllaunch {

namespace {

/// The fit nodes without the unwanted ones, as far as `taken` are left.
std::vector<std::string> wanted_nodes(std::vector<std::string> fit, std::size_t taken,
                                      const Nearness& nearness, std::vector<std::string>& spared) {
  for (const auto& node : nearness.unwanted) {
    if (fit.size() <= taken) break;
    if (std::erase(fit, node) > 0) spared.push_back(node);
  }
  return fit;
}

/// Those of `fit` that are to be left out. A flipped bit may be the only one: for the first a job
/// is not put back into the queue, where it may wait for nodes that are not there.
std::vector<std::string> bad_among(const std::vector<std::string>& fit, std::size_t fewest,
                                   const BadNodes& bad) {
  std::vector<std::string> once;
  std::vector<std::string> twice;
  for (const auto& node : fit) {
    const auto times = std::ranges::count(bad.nodes, node);
    if (times > 0) once.push_back(node);
    if (times > 1) twice.push_back(node);
  }
  const bool enough = fewest > 0 && fit.size() >= fewest + once.size();
  return enough ? once : twice;
}

}  // namespace

StartNodes pick_nodes(NodeFitness fitness, NodesWanted wanted, bool always,
                      const Nearness& nearness) {
  StartNodes nodes{.fitness = std::move(fitness)};
  const auto& fit = nodes.fitness.fit;
  const bool enough = wanted.fewest > 0 && fit.size() >= wanted.fewest;
  const bool all_well = nodes.fitness.unfit.empty();
  if (enough && (always || !all_well)) {
    const auto taken = std::min(fit.size(), wanted.most);
    const auto wanted_fit = wanted_nodes(fit, taken, nearness, nodes.spared);
    nodes.list =
        compress_hosts(nearest_nodes(nearness.network, wanted_fit, taken, nearness.before));
  }
  nodes.too_few = !enough && !all_well;
  return nodes;
}

StartNodes choose_start_nodes(System& system, const SupervisedRun& run, bool preflight, bool again,
                              const Nearness& nearness, const BadNodes& bad) {
  const bool by_srun = run.start.starts_by_srun();
  const bool chooses = run.recovery.plan.spare_nodes > 0 || run.recovery.plan.elastic();
  const auto wanted = by_srun ? NodesWanted{run.nodes, run.fewest_nodes()} : NodesWanted{};
  auto left = again || chooses ? nodes_left(system, run.allocation) : std::nullopt;
  if (!left) left.emplace();
  if (left->there.empty() && run.recovery.plan.elastic())
    if (auto all = expand_hosts(run.allocation.nodes)) left->there = *std::move(all);
  const auto held = left->there.size();
  std::optional<NodeFitness> fitness;
  if (preflight) {
    auto found = look_for_fit_nodes(system, run.dir.path, left->gone);
    if (!found) system.log(fmt::format("dllaunch: pre-flight: {}\n", found.error().what));
    if (found) fitness = *std::move(found);
  }
  if (!fitness) fitness.emplace(NodeFitness{.fit = std::move(left->there)});
  leave_out(left->silent, does_not_answer, *fitness);
  leave_out(left->gone, slurm_lost_it, *fitness);
  const auto& silent = left->silent;
  fitness->silent.insert(fitness->silent.end(), silent.begin(), silent.end());
  leave_out(bad_among(fitness->fit, wanted.fewest, bad), bad.why, *fitness);
  auto nodes = pick_nodes(*std::move(fitness), wanted, chooses, nearness);
  nodes.overlap = !left->gone.empty() || !nodes.fitness.silent.empty();
  nodes.held = held;
  return nodes;
}

std::string start_on(const StartNodes& nodes, SupervisedRun& run) {
  std::string words;
  auto& options = run.start.options;
  if (nodes.overlap && run.start.starts_by_srun()) options.insert(options.begin(), "--overlap");
  if (nodes.list.empty()) return words;
  const auto hosts = expand_hosts(nodes.list);
  if (hosts && hosts->size() != run.nodes) {
    words += fmt::format("dllaunch: {} of {} nodes: the ranks start on those\n", hosts->size(),
                         run.nodes);
    resize(run.start, run.nodes, hosts->size(), run.ranks_per_node);
    run.nodes = hosts->size();
  }
  options.insert(options.begin(), "--nodelist=" + nodes.list);
  run.allocation.nodes = nodes.list;
  if (!nodes.fitness.why.empty())
    words += fmt::format("dllaunch: not fit, left out: {}\n", nodes.fitness.why);
  if (!nodes.spared.empty())
    words += fmt::format("dllaunch: left to the spares: {} (recovery.avoid; dllaunch nodes)\n",
                         compress_hosts(nodes.spared));
  return words;
}

void resize(StartCommand& start, std::size_t planned, std::size_t nodes, int ranks_per_node) {
  const auto ranks = static_cast<std::size_t>(ranks_per_node);
  const std::pair<std::string, std::string> changes[] = {
      {fmt::format("--nodes={}", planned), fmt::format("--nodes={}", nodes)},
      {fmt::format("--ntasks={}", planned * ranks), fmt::format("--ntasks={}", nodes * ranks)}};
  for (const auto& [before, now] : changes) std::ranges::replace(start.options, before, now);
}

std::optional<JournalPreflight> seen_in(const StartNodes& nodes, const JobAllocation& allocation,
                                        double time) {
  const auto& fitness = nodes.fitness;
  if (fitness.seconds == 0 && fitness.unfit.empty()) return std::nullopt;
  return JournalPreflight{.time = time,
                          .job = allocation.job,
                          .allocation = allocation.restarts,
                          .seconds = fitness.seconds,
                          .unfit = compress_hosts(fitness.unfit),
                          .why = fitness.why};
}

bool has_enough_nodes(System& system, const SupervisedRun& run, std::vector<std::string>& silent) {
  const bool may_choose = run.recovery.asks_ranks && run.start.starts_by_srun() && run.nodes > 0;
  const auto left = nodes_left(system, run.allocation);
  silent = left ? left->silent : std::vector<std::string>();
  if (!may_choose || !left || left->there.size() < run.fewest_nodes()) return false;
  const auto& here = run.allocation.host;
  const auto& lost = left->gone;
  return here.empty() || std::ranges::find(lost, here) == lost.end();
}

}  // namespace dllaunch
