#include "launcher/monitor/observe_runs.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

bool may_be_queued(const StoredRun& run) {
  return run.plan.launcher == Launcher::slurm && !run.job_id.empty() && run.summary.is_null();
}

/// `id` empty: all jobs of the user.
Queue ask_queue(World& world, const std::string& id) {
  auto jobs = queued_jobs(world, id);
  if (jobs) return {.answered = true, .jobs = *std::move(jobs)};
  world.note("dllaunch: warning: Slurm does not answer: " + jobs.error().what + "\n");
  return {};
}

/// A job that this cluster does not have may be of another one.
void look_elsewhere(OwnCluster& here, RunView& view) {
  if (view.state != "ended") return;
  if (!check_cluster(view.run.dir, view.run.job_id, here)) view.state = "elsewhere";
}

}  // namespace

std::vector<RunView> observe_runs(World& world, std::size_t most_over) {
  std::vector<StoredRun> runs;
  std::size_t over = 0;
  for (const auto& path : known_runs(world)) {
    auto run = read_stored_run(world, path);
    if (!run && run.error().kind == ErrorKind::unavailable)
      world.note("dllaunch: warning: " + run.error().what + "\n");
    if (!run || (!run->summary.is_null() && ++over > most_over)) continue;
    runs.push_back(*std::move(run));
  }
  const bool ask = std::any_of(runs.begin(), runs.end(), may_be_queued);
  const Queue queue = ask ? ask_queue(world, "") : Queue{};
  const double now = unix_seconds();
  OwnCluster here(world);
  std::vector<RunView> views;
  views.reserve(runs.size());
  for (auto& run : runs) {
    views.push_back(view_run(std::move(run), queue, now));
    look_elsewhere(here, views.back());
  }
  return views;
}

RunView observe_run(World& world, StoredRun run) {
  // Where a summary was written too early, the job lives all the same, and is what counts.
  const bool ask = run.plan.launcher == Launcher::slurm && !run.job_id.empty();
  const Queue queue = ask ? ask_queue(world, run.job_id) : Queue{};
  auto view = view_run(std::move(run), queue, unix_seconds());
  OwnCluster here(world);
  look_elsewhere(here, view);
  return view;
}

}  // namespace dllaunch
