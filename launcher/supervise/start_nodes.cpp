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

StartNodes pick_nodes(NodeFitness fitness, std::size_t needed, bool always,
                      const Nearness& nearness) {
  StartNodes nodes{.fitness = std::move(fitness)};
  const auto& fit = nodes.fitness.fit;
  const bool enough = needed > 0 && fit.size() >= needed;
  const bool all_well = nodes.fitness.unfit.empty();
  if (enough && (always || !all_well))
    nodes.list = compress_hosts(nearest_nodes(nearness.network, fit, needed, nearness.before));
  nodes.too_few = !enough && !all_well;
  return nodes;
}

StartNodes choose_start_nodes(System& system, const SupervisedRun& run, bool preflight, bool again,
                              const Nearness& nearness) {
  const bool by_srun = run.start.starts_by_srun();
  const bool spares = run.recovery.plan.spare_nodes > 0;
  const auto needed = by_srun ? run.nodes : 0;
  auto left = again || spares ? nodes_left(system, run.allocation) : std::nullopt;
  if (!left) left.emplace();
  std::optional<NodeFitness> fitness;
  if (preflight) {
    auto found = look_for_fit_nodes(system, run.dir.path, left->gone);
    if (!found) system.log(fmt::format("dllaunch: pre-flight: {}\n", found.error().what));
    if (found) fitness = *std::move(found);
  }
  if (!fitness) {
    fitness.emplace(NodeFitness{.fit = std::move(left->there)});
    leave_out(left->gone, *fitness);
  }
  auto nodes = pick_nodes(*std::move(fitness), needed, spares, nearness);
  nodes.lost = !left->gone.empty();
  return nodes;
}

void start_on(const StartNodes& nodes, SupervisedRun& run) {
  std::vector<std::string> first = {"--nodelist=" + nodes.list};
  if (nodes.lost) first.emplace_back("--overlap");
  auto& options = run.start.options;
  options.insert(options.begin(), first.begin(), first.end());
  run.allocation.nodes = nodes.list;
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

bool has_enough_nodes(System& system, const SupervisedRun& run) {
  const bool may_choose = run.recovery.asks_ranks && run.start.starts_by_srun() && run.nodes > 0;
  const auto left = may_choose ? nodes_left(system, run.allocation) : std::nullopt;
  if (!left || left->there.size() < run.nodes) return false;
  const auto& here = run.allocation.host;
  const auto& lost = left->gone;
  return here.empty() || std::ranges::find(lost, here) == lost.end();
}

}  // namespace dllaunch
