#include "launcher/launch/dependencies.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

Error will_not_do(const std::string& entry, const std::string& why, const std::string& hint) {
  return {ErrorKind::bad_request, fmt::format("after: {} {}", entry, why), hint};
}

constexpr const char* drop_hint = "run it again, or remove it from `after:`";

/// A job that no run of ours is: Slurm alone knows it.
Result<Ok> add_job(System& system, const std::string& id, Dependencies& dependencies) {
  auto queued = queued_jobs(system, id);
  if (!queued) return std::move(queued).error().within("after: " + id);
  const bool there = std::any_of(queued->begin(), queued->end(),
                                 [](const QueuedJob& job) { return !is_final_state(job.state); });
  if (there) {
    dependencies.jobs.push_back(id);
    return Ok{};
  }
  const auto ended = finished_jobs(system, id);
  if (ended.empty())
    return will_not_do(id, "is not a run of yours, and Slurm has no such job (any more)",
                       drop_hint);
  for (const auto& job : ended) {
    if (job.state == "COMPLETED") continue;
    return will_not_do(
        id, fmt::format("ended as {}: a job that waits for it would never start", job.state),
        drop_hint);
  }
  dependencies.notes.push_back(fmt::format("after: job {} has completed already", id));
  return Ok{};
}

Result<Ok> add_run(System& system, const std::string& entry, const std::string& path,
                   Dependencies& dependencies) {
  auto stored = read_stored_run(system, path);
  if (!stored) return std::move(stored).error();
  auto run_state = observe_run(system, *std::move(stored));
  if (run_state.state == "unknown")
    return Error{ErrorKind::unavailable, fmt::format("after: {}: Slurm does not answer", entry),
                 ""};
  if (run_state.state == "elsewhere")
    return check_cluster(system, run_state.run.dir, run_state.run.job_id)
        .error()
        .within("after: " + entry);
  if (run_state.state == "ended") {
    auto final_state = finalize_run(system, run_state.run);
    if (!final_state) return std::move(final_state).error();
    if (*final_state) run_state.state = to_string((*final_state)->outcome.status);
  }
  if (run_state.state == "completed") {
    dependencies.notes.push_back(fmt::format("after: {} has completed already", entry));
    return Ok{};
  }
  if (!is_over(run_state) && run_state.run.plan.launcher == Launcher::local)
    return will_not_do(entry, "runs without Slurm, which cannot wait for it",
                       "start this job when it is done");
  if (is_over(run_state) || run_state.run.job_id.empty())
    return will_not_do(
        entry,
        fmt::format("is {} ({}): a job that waits for it would never start", run_state.state, path),
        drop_hint);
  dependencies.jobs.push_back(run_state.run.job_id);
  return Ok{};
}

}  // namespace

Result<Dependencies> resolve_dependencies(System& system, const std::vector<std::string>& after) {
  Dependencies dependencies;
  for (const auto& entry : after) {
    const auto job = std::string(job_of_task(entry));
    auto path = find_run(system, entry);
    if (!path && job.empty()) return std::move(path).error().within("after");
    // A task of an array is a job of its own.
    const bool by_id = !path || job != entry;
    auto added = !job.empty() && by_id ? add_job(system, entry, dependencies)
                                       : add_run(system, entry, *path, dependencies);
    if (!added) return std::move(added).error();
  }
  return dependencies;
}

}  // namespace dllaunch
