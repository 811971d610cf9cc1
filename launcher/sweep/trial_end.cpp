#include "launcher/sweep/trial_end.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/launch/child_run.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/sweep/trial_metric.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

std::string submission_in(const StoredRun& run) {
  return value_at<std::string>(run.summary, "submission");
}

/// Takes what a trial trained; whether it is as far as it was to go. A command's number counts only
/// once the command has completed.
bool measure(const Job& job, const StoredRun& run, Trial& trial) {
  const bool completed = stored_status(run) == "completed";
  if (!completed && job.train.is_null()) return false;
  for (const auto& [epoch, value] : read_metric(run.dir, job, trial))
    trial.values.insert_or_assign(epoch, value);
  if (!completed) return false;
  return trial.target == 0 ? trial.value().has_value() : trial.values.contains(trial.target);
}

void finish(const Sweep& sweep, Trial& trial) {
  trial.reason.clear();
  const bool more = trial.target != 0 && trial.target < sweep.rungs.back();
  trial.state = more ? TrialState::paused : TrialState::completed;
}

/// Why it starts again; empty: it does not.
std::string ended_by(const StoredRun& run, const Execution& execution) {
  const auto status = stored_status(run);
  // A start of the run writes that of the start before, and may be killed in turn.
  const bool unseen = value_at<std::string>(run.summary, "reason") == killed_unseen;
  if (execution.overdue || status == "timeout") return took_too_long;
  // Its job was still in the queue, completed, so that it followed that one.
  if (status.empty() && execution.code == 0) return "it did not begin";
  const bool unsaid = status.empty() || status == "cancelled";
  if (unseen || (unsaid && execution.code.value_or(0) >= 128)) return "its dllaunch was killed";
  return status == "preempted" || status == "node_fail" ? status : "";
}

std::string why_failed(const Sweep& sweep, const StoredRun& run, const Trial& trial) {
  const auto status = stored_status(run);
  if (status.empty()) return last_error_of_child(run.dir.path);
  if (status == "completed") {
    const auto where = trial.target == 0 ? "it" : fmt::format("epoch {}", trial.target);
    return fmt::format("{} has no number of {}", where, sweep.metric);
  }
  auto why = value_at<std::string>(run.summary, "first_error");
  if (why.empty()) why = value_at<std::string>(run.summary, "reason");
  return status + (why.empty() ? "" : ": " + why);
}

}  // namespace

StoredRun unjudged_run(System& system, const std::string& dir, const Trial& trial) {
  auto stored = read_stored_run(system, dir);
  StoredRun run =
      stored ? *std::move(stored) : StoredRun{.dir = {.path = dir}, .plan = {}, .summary = {}};
  const auto submission = submission_in(run);
  if (submission.empty() || submission == trial.judged) run.summary = nullptr;
  return run;
}

void judge(const Sweep& sweep, const Job& job, const StoredRun& run, const Execution& execution,
           Trial& trial) {
  const auto status = stored_status(run);
  if (!run.summary.is_null()) trial.judged = submission_in(run);
  if (measure(job, run, trial)) return finish(sweep, trial);
  const bool cancelled_unseen = !execution.code && status == "cancelled";
  if (status != "completed" && (execution.stopping || cancelled_unseen)) return;
  const auto again = status == "completed" ? "" : ended_by(run, execution);
  if (!again.empty()) {
    const bool got_on = !job.train.is_null() && trial.epochs() > execution.epochs_before;
    return ended_from_outside(trial, again, got_on);
  }
  trial.state = TrialState::failed;
  trial.reason = why_failed(sweep, run, trial);
}

}  // namespace dllaunch
