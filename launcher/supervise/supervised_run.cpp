#include "launcher/supervise/supervised_run.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "launcher/run/journal.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/supervise/hold/retry_order.hpp"
#include "launcher/supervise/signals.hpp"

namespace dllaunch {
namespace {

std::string excluded_by_plan(const RunOutline& plan) {
  const auto option =
      std::ranges::find(plan.sbatch, "--exclude", &std::pair<std::string, std::string>::first);
  return option == plan.sbatch.end() ? "" : option->second;
}

}  // namespace

Exclusion exclusion_of(const SupervisedRun& run, const std::string& fresh) {
  Exclusion wanted{.fresh = fresh, .by_user = run.excluded, .needed = run.fewest_nodes()};
  if (fresh.empty()) return wanted;
  for (const auto& [job, nodes] : read_journal(run.dir).excluded)
    if (job == run.job()) wanted.earlier.push_back(nodes);
  return wanted;
}

Result<SupervisedRun> read_supervised_run(System& system, const std::string& run_dir,
                                          const std::vector<std::string>& start) {
  auto stored = read_stored_run(system, std::filesystem::absolute(run_dir).lexically_normal());
  if (!stored) return std::move(stored).error();
  const auto program = system.find_program(start.at(0));
  if (!program)
    return Error{ErrorKind::unavailable, start[0] + " is not installed on this node",
                 "load it in environment.modules"};
  const auto& plan = stored->plan;
  SupervisedRun run{.dir = stored->dir,
                    .recovery = {.plan = plan.recovery,
                                 .trains = stored->trains,
                                 .asks_ranks = plan.asks_ranks,
                                 .grace_seconds = plan.grace_seconds},
                    .signal = signal_of_name(plan.signal),
                    .start = start_command_of(start),
                    .program = *program,
                    .allocation = read_allocation(system),
                    .nodes = static_cast<std::size_t>(std::max(0, plan.nodes)),
                    .network_order = plan.network_order,
                    .network = plan.network,
                    .node_book = plan.node_book,
                    .excluded = excluded_by_plan(plan),
                    .ranks_per_node = plan.ranks_per_node,
                    .start_name = system.environment(start_name_variable).value_or("")};
  follow_retry(system, run);
  return run;
}

}  // namespace dllaunch
