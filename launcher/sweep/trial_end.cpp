#include "launcher/sweep/trial_end.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/launch/child_run.hpp"
#include "launcher/os/storage_patience.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/sweep/trial_metric.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

std::string submission_in(const StoredRun& run) {
  return value_at<std::string>(run.summary, "submission");
}

/// Takes what a trial trained; whether it is as far as it was to go. A command's number counts only
/// once the command has completed. unavailable: it cannot be read.
Result<bool> measure(const Job& job, const StoredRun& run, Trial& trial) {
  const bool completed = stored_status(run) == "completed";
  if (!completed && job.train.is_null()) return false;
  const auto values = read_metric(run.dir, job, trial);
  if (!values) return values.error();
  for (const auto& [epoch, value] : *values) trial.values.insert_or_assign(epoch, value);
  if (!completed) return false;
  return trial.target == 0 ? trial.value().has_value() : trial.values.contains(trial.target);
}

void finish(const Sweep& sweep, Trial& trial) {
  trial.reason.clear();
  const bool more = trial.target != 0 && trial.target < sweep.rungs.back();
  trial.state = more ? TrialState::paused : TrialState::completed;
}

/// What the run, or its dllaunch, said last.
std::string last_words(const StoredRun& run) {
  if (stored_status(run).empty()) return last_error_of_child(run.dir.path);
  auto words = value_at<std::string>(run.summary, "first_error");
  return words.empty() ? value_at<std::string>(run.summary, "reason") : words;
}

/// Why it starts again; empty: it does not.
std::string ended_by(const StoredRun& run, const Execution& execution) {
  const auto status = stored_status(run);
  // A start of the run writes that of the start before, and may be killed in turn.
  const bool unseen = value_at<bool>(run.summary, "unseen",
                                     value_at<std::string>(run.summary, "reason") == killed_unseen);
  if (execution.overdue || status == "timeout") return took_too_long;
  // Its job was still in the queue, completed, so that it followed that one.
  if (status.empty() && execution.code == 0) return "it did not begin";
  const bool unsaid = status.empty() || status == "cancelled";
  if (unseen || (unsaid && execution.code.value_or(0) >= 128)) return "its dllaunch was killed";
  // A disk that has room again must not cost the trial; one that it fills itself does, in the end.
  const auto words = last_words(run);
  if (tells_of_storage(words)) return words;
  if (const auto reason = value_at<std::string>(run.summary, "reason"); tells_of_storage(reason))
    return reason;
  if (status.empty() && words.empty())
    return fmt::format("its dllaunch exited with code {} and could say nothing",
                       execution.code.value_or(0));
  return status == "preempted" || status == "node_fail" ? status : "";
}

std::string why_failed(const Sweep& sweep, const StoredRun& run, const Trial& trial) {
  const auto status = stored_status(run);
  if (status == "completed") {
    const auto where = trial.target == 0 ? "it" : fmt::format("epoch {}", trial.target);
    return fmt::format("{} has no number of {}", where, sweep.metric);
  }
  const auto why = last_words(run);
  return status + (status.empty() || why.empty() ? "" : ": ") + why;
}

}  // namespace

Result<StoredRun> unjudged_run(System& system, const std::string& dir, const Trial& trial) {
  auto stored = read_stored_run(system, dir);
  if (!stored && tells_of_storage(stored.error().what)) return stored;
  StoredRun run =
      stored ? *std::move(stored) : StoredRun{.dir = {.path = dir}, .plan = {}, .summary = {}};
  const auto submission = submission_in(run);
  if (submission.empty() || submission == trial.judged) run.summary = nullptr;
  return run;
}

Result<Ok> judge(const Sweep& sweep, const Job& job, const StoredRun& run,
                 const Execution& execution, Trial& trial) {
  const auto status = stored_status(run);
  const auto measured = measure(job, run, trial);
  if (!measured && tells_of_storage(measured.error().what)) return measured.error();
  if (!run.summary.is_null()) trial.judged = submission_in(run);
  const bool cancelled_unseen = !execution.code && status == "cancelled";
  const auto again = status == "completed" ? "" : ended_by(run, execution);
  if (measured && *measured) {
    finish(sweep, trial);
  } else if (status != "completed" && (execution.stopping || cancelled_unseen)) {
    return Ok{};
  } else if (!again.empty()) {
    const bool got_on = !job.train.is_null() && trial.epochs() > execution.epochs_before;
    ended_from_outside(trial, again, got_on);
  } else {
    trial.state = TrialState::failed;
    trial.reason = measured ? why_failed(sweep, run, trial) : measured.error().what;
  }
  return Ok{};
}

}  // namespace dllaunch
