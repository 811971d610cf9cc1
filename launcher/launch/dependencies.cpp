#include "launcher/launch/dependencies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

Error will_not_do(const std::string& entry, const std::string& why, const std::string& hint) {
  return {ErrorKind::bad_request, fmt::format("after: {} {}", entry, why), hint};
}

constexpr const char* drop_hint = "repeat it, or take it out of `after:`";

/// A job that no run of ours is: Slurm alone knows it.
Result<Ok> add_job(World& world, const std::string& id, Awaited& awaited) {
  auto queued = queued_jobs(world, id);
  if (!queued) return std::move(queued).error().within("after: " + id);
  const bool there = std::any_of(queued->begin(), queued->end(),
                                 [](const QueuedJob& job) { return !is_final_state(job.state); });
  if (there) {
    awaited.jobs.push_back(id);
    return Ok{};
  }
  const auto ended = finished_jobs(world, id);
  if (ended.empty())
    return will_not_do(id, "is no run of yours, and Slurm knows no such job (any more)", drop_hint);
  for (const auto& job : ended) {
    if (job.state == "COMPLETED") continue;
    return will_not_do(
        id, fmt::format("ended as {}: a job that waits for it would never start", job.state),
        drop_hint);
  }
  awaited.notes.push_back(fmt::format("after: job {} has completed already", id));
  return Ok{};
}

Result<Ok> add_run(World& world, const std::string& entry, const std::string& path,
                   Awaited& awaited) {
  auto stored = read_stored_run(world, path);
  if (!stored) return std::move(stored).error();
  auto view = observe_run(world, *std::move(stored));
  if (view.state == "unknown")
    return Error{ErrorKind::unavailable, fmt::format("after: {}: Slurm does not answer", entry),
                 ""};
  if (view.state == "elsewhere")
    return check_cluster(world, view.run.dir, view.run.job_id).error().within("after: " + entry);
  if (view.state == "ended") {
    auto settled = settle_run(world, view.run);
    if (!settled) return std::move(settled).error();
    if (*settled) view.state = to_string((*settled)->outcome.status);
  }
  if (view.state == "completed") {
    awaited.notes.push_back(fmt::format("after: {} has completed already", entry));
    return Ok{};
  }
  if (!is_over(view) && view.run.plan.launcher == Launcher::local)
    return will_not_do(entry, "runs without Slurm, which cannot wait for it",
                       "start this job when it is done");
  if (is_over(view) || view.run.job_id.empty())
    return will_not_do(
        entry,
        fmt::format("is {} ({}): a job that waits for it would never start", view.state, path),
        drop_hint);
  awaited.jobs.push_back(view.run.job_id);
  return Ok{};
}

}  // namespace

Result<Awaited> resolve_after(World& world, const std::vector<std::string>& after) {
  Awaited awaited;
  for (const auto& entry : after) {
    const auto job = std::string(job_of_task(entry));
    auto path = find_run(world, entry);
    if (!path && job.empty()) return std::move(path).error().within("after");
    // One task of an array is a job of its own.
    const bool by_id = !path || job != entry;
    auto added = !job.empty() && by_id ? add_job(world, entry, awaited)
                                       : add_run(world, entry, *path, awaited);
    if (!added) return std::move(added).error();
  }
  return awaited;
}

}  // namespace dllaunch
