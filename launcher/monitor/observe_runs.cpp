#include "launcher/monitor/observe_runs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

bool may_be_queued(const StoredRun& run) {
  return run.plan.launcher == Launcher::slurm && !run.job_id.empty() && run.summary.is_null();
}

/// `id` empty: all the user's jobs.
Queue ask_queue(System& system, const std::string& id) {
  auto jobs = queued_jobs(system, id);
  if (jobs) return {.answered = true, .jobs = *std::move(jobs)};
  system.log("dllaunch: warning: Slurm does not answer: " + jobs.error().what + "\n");
  return {};
}

/// A job unknown to this cluster may belong to another.
void look_elsewhere(OwnCluster& here, RunState& run_state) {
  if (run_state.state != "ended") return;
  if (!check_cluster(run_state.run.dir, run_state.run.job_id, here)) run_state.state = "elsewhere";
}

/// A component whose script has not started yet waits with its job.
std::optional<RunState> as_part_of_whole(System& system, const StoredRun& run) {
  if (run.plan.launcher != Launcher::slurm || !run.job_id.empty()) return std::nullopt;
  const auto path = whole_of(run.dir.path);
  if (path.empty()) return std::nullopt;
  auto whole = read_stored_run(system, path);
  if (!whole) return std::nullopt;
  auto run_state = observe_run(system, *std::move(whole));
  run_state.run = run;
  run_state.where.clear();
  run_state.progress = {};
  return run_state;
}

}  // namespace

std::vector<RunState> observe_runs(System& system, std::size_t most_over) {
  std::vector<StoredRun> runs;
  std::vector<std::string> away;
  std::size_t over = 0;
  for (const auto& path : known_runs(system, most_remembered_runs, &away)) {
    auto run = read_stored_run(system, path);
    if (!run && run.error().kind == ErrorKind::unavailable)
      system.log("dllaunch: warning: " + run.error().what + "\n");
    if (!run || (!run->summary.is_null() && ++over > most_over)) continue;
    runs.push_back(*std::move(run));
  }
  const bool ask =
      (!away.empty() && system.find_program("squeue")) || std::ranges::any_of(runs, may_be_queued);
  const Queue queue = ask ? ask_queue(system, "") : Queue{};
  const double now = unix_seconds();
  OwnCluster here(system);
  std::vector<RunState> run_states;
  run_states.reserve(runs.size());
  for (const auto& path : away)
    if (auto run_state = state_of_away_run(path, queue))
      run_states.push_back(*std::move(run_state));
  for (auto& run : runs) {
    run_states.push_back(run_state_of(std::move(run), queue, now));
    look_elsewhere(here, run_states.back());
  }
  return run_states;
}

RunState observe_run(System& system, StoredRun run) {
  if (auto waiting = as_part_of_whole(system, run)) return *std::move(waiting);
  // If a summary was written too early, the live job counts.
  const bool ask = run.plan.launcher == Launcher::slurm && !run.job_id.empty();
  const Queue queue = ask ? ask_queue(system, run.job_id) : Queue{};
  auto run_state = run_state_of(std::move(run), queue, unix_seconds());
  OwnCluster here(system);
  look_elsewhere(here, run_state);
  return run_state;
}

Result<RunState> observe_end(System& system, const std::string& path) {
  auto stored = read_stored_run(system, path);
  if (!stored) return std::move(stored).error();
  auto run_state = observe_run(system, *std::move(stored));
  if (run_state.state != "ended") return run_state;
  auto end = finalize_run(system, run_state.run);
  if (!end) return std::move(end).error();
  if (*end) run_state.run.summary = std::move((*end)->summary);
  if (!run_state.run.summary.is_null()) run_state.state = stored_status(run_state.run);
  return run_state;
}

}  // namespace dllaunch
