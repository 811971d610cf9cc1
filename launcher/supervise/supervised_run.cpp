#include "launcher/supervise/supervised_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "launcher/os/stored_json.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/supervise/hold/retry_order.hpp"

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
  const auto journal = read_journal(run.dir);
  const auto& all = journal.excluded;
  const auto chain = static_cast<std::size_t>(journal.put_back_for_nodes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].first != run.job()) continue;
    wanted.earlier.push_back(all[i].second);
    if (i + chain >= all.size()) ++wanted.chain;
  }
  return wanted;
}

Exclusion exclusion_of(const StoredRun& run, const std::string& job, const std::string& fresh) {
  return exclusion_of(SupervisedRun{.dir = run.dir,
                                    .recovery = {.plan = run.plan.recovery},
                                    .allocation = {.job = job},
                                    .nodes = static_cast<std::size_t>(std::max(0, run.plan.nodes)),
                                    .excluded = excluded_by_plan(run.plan)},
                      fresh);
}

/// What is ordered in the run's directory may be another user's order, and the book that its plan
/// names another file of this user's.
void take_plan_from(const std::string& folder, StoredRun& run, System& system) {
  auto& plan = run.plan;
  if (const auto text = system.read_file(RunDir{.path = folder}.plan_json())) {
    plan = outline_from_json(json_object_in(*text));
  } else {
    system.log(fmt::format("dllaunch: warning: {}: the plan is taken from {}\n", text.error().what,
                           run.dir.path));
    plan.node_book.clear();
  }
  plan.paths.run_dir = run.dir.path;
  plan.recovery.hold_seconds = 0;
}

Result<SupervisedRun> read_supervised_run(System& system, const std::string& run_dir,
                                          const std::vector<std::string>& start,
                                          const std::string& files) {
  auto stored = read_stored_run(system, std::filesystem::absolute(run_dir).lexically_normal());
  if (!stored) return std::move(stored).error();
  const auto program = system.find_program(start.at(0));
  if (!program)
    return Error{ErrorKind::unavailable, start[0] + " is not installed on this node",
                 "load it in environment.modules"};
  const bool guarded = !files.empty();
  if (guarded) take_plan_from(files, *stored, system);
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
                    .guarded = guarded,
                    .network_order = plan.network_order,
                    .network = plan.network,
                    .node_book = plan.node_book,
                    .excluded = excluded_by_plan(plan),
                    .ranks_per_node = plan.ranks_per_node,
                    .start_name = system.environment(start_name_variable).value_or("")};
  if (!guarded) follow_retry(system, run);
  return run;
}

}  // namespace dllaunch
