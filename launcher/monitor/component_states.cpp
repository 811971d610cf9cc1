#include "launcher/monitor/component_states.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launcher/run/journal.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// A component whose script failed has written nothing itself.
void take_from_whole(const std::string& name, const RunState& whole, ComponentState& state) {
  const auto last = read_journal(whole.run.dir).last;
  const auto begin = fmt::format("component {}: ", name);
  if (!last || last->job != whole.run.job_id || !last->reason.starts_with(begin)) return;
  state.state = std::string(to_string(last->status));
  state.reason = last->reason.substr(begin.size());
}

/// Slurm's record of one component's job is not asked for: its supervisor has written the end.
ComponentState state_of(System& system, const ComponentOutline& component, const RunState& whole,
                        double now_s) {
  ComponentState state{.name = component.name,
                       .state = whole.state,
                       .dir = component_dir(whole.run.dir.path, component.name)};
  auto run = read_stored_run(system, state.dir);
  if (!run) return state;
  const bool begun = run->plan.launcher == Launcher::local || !run->job_id.empty();
  if (!begun || whole.state == "pending") return state;
  Queue queue{.answered = whole.state != "unknown", .jobs = whole.jobs};
  // "12" is also the number of the whole.
  std::erase_if(queue.jobs,
                [&run](const QueuedJob& job) { return job_number(job.id) != run->job_id; });
  const auto now = run_state_of(*std::move(run), queue, now_s);
  state.state = now.state;
  state.progress = progress_words(now);
  state.where = now.where;
  state.reason = value_at<std::string>(now.run.summary, "reason");
  const auto last = read_journal(now.run.dir).last;
  if (!last || last->job != now.run.job_id) {
    if (is_over(now)) take_from_whole(component.name, whole, state);
    return state;
  }
  if (is_over(now)) state.state = std::string(to_string(last->status));
  if (last->status != RunStatus::completed) state.reason = last->reason;
  return state;
}

}  // namespace

std::vector<ComponentState> component_states(System& system, const RunState& whole, double now_s) {
  std::vector<ComponentState> states;
  for (const auto& component : whole.run.plan.components)
    states.push_back(state_of(system, component, whole, now_s));
  // Told to stop, since another one had ended the job.
  for (auto& one : states) {
    if (whole.state != "completed" || one.state != "cancelled") continue;
    one.state = "stopped";
    one.reason = "the job was over";
  }
  return states;
}

std::vector<std::string> lines_of(const std::vector<ComponentState>& states) {
  std::size_t width = 0;
  for (const auto& one : states) width = std::max(width, one.name.size());
  std::vector<std::string> lines;
  for (const auto& one : states) {
    const auto words = one.reason.empty() ? one.progress : one.reason;
    lines.push_back(fmt::format("{:{}}  {}{}{}", one.name, width, one.state,
                                one.where.empty() ? "" : " on " + one.where,
                                words.empty() ? "" : ": " + words));
  }
  return lines;
}

Json to_json(const std::vector<ComponentState>& states) {
  auto all = Json::array();
  for (const auto& one : states)
    all.push_back({{"name", one.name},
                   {"state", one.state},
                   {"where", or_null(one.where)},
                   {"progress", or_null(one.progress)},
                   {"reason", or_null(one.reason)},
                   {"run_dir", one.dir}});
  return all;
}

}  // namespace dllaunch
