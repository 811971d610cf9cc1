#include "launcher/postmortem/finalize.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "launcher/accounting/read_books.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// Returns the time from the first submission to the last end, over all tasks of an array.
double seconds_of(const std::vector<SlurmJob>& jobs) {
  double seconds = 0;
  for (const auto& job : jobs) {
    seconds = std::max(seconds, seconds_between(job.submit, job.end).value_or(0));
  }
  return seconds;
}

std::string file_text(const Json& summary) {
  // Paths may contain any bytes; JSON is UTF-8.
  return summary.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string render_failure(const Outcome& outcome) {
  if (outcome.reason.empty()) return "";
  std::string text;
  if (!outcome.first_error.empty())
    text += fmt::format("dllaunch: first error: {}\n", outcome.first_error);
  text += fmt::format("dllaunch: {}\n", outcome.reason);
  for (const auto& other : outcome.others) text += fmt::format("dllaunch: {}\n", other);
  if (!outcome.advice.empty()) text += fmt::format("  try: {}\n", outcome.advice);
  if (outcome.excerpt.empty()) return text;
  text += "  " + outcome.log + ":\n";
  for (const auto& line : outcome.excerpt) text += "    | " + line + "\n";
  return text;
}

RunTotals read_totals(const StoredRun& run) {
  RunTotals totals;
  EventTail tail(run.dir.events());
  for (auto events = tail.read(); !events.empty(); events = tail.read()) {
    for (const auto& event : events) {
      if (time_of(event) >= run.began_at_s) {
        totals.take(event);
      } else {
        totals.recall(event);
      }
    }
  }
  return totals;
}

Summary summary_of(const Outcome& outcome, const RunTotals& totals, int ranks, bool trains,
                   double most_seconds) {
  auto summary = summarize(totals, outcome.status, outcome.seconds, ranks, most_seconds);
  summary.queue_seconds = outcome.queue_seconds;
  // A requeued trainer that resumed has reported the same restart: count it once.
  summary.restarts = std::max(summary.restarts, outcome.restarts);
  if (trains) summary.epochs = totals.epochs();
  summary.tasks = outcome.tasks;
  summary.reason = outcome.reason;
  summary.first_error = outcome.first_error;
  summary.advice = outcome.advice;
  return summary;
}

Summary final_summary(System& system, const StoredRun& run, const Outcome& outcome,
                      const RunTotals& totals) {
  auto summary = summary_of(outcome, totals, run.plan.ranks(), run.trains,
                            seconds_since_began(run.dir, run.plan.launcher));
  summary.books = read_books(system, run.plan, run.dir, outcome, summary, totals.history());
  return summary;
}

std::string summary_text(const Summary& summary) {
  return file_text(to_json(summary));
}

Result<std::optional<FinalState>> read_final_state(System& system, const StoredRun& run) {
  if (run.plan.launcher != Launcher::slurm || run.job_id.empty())
    return std::optional<FinalState>();
  auto queued = job_of_run(run.plan, run.dir, system);
  if (!queued) return std::move(queued).error();
  bool silent = false;
  const auto ended = finished_jobs(system, identity_of(run.plan, run.dir, run.job_id), &silent);
  // No conclusion if Slurm did not answer: it may still know the job.
  if (silent && !*queued)
    return Error{ErrorKind::unavailable,
                 fmt::format("Slurm does not report how job {} ended", run.job_id),
                 "try again later"};
  const bool going =
      std::ranges::any_of(ended, [](const SlurmJob& job) { return !is_final_state(job.state); });
  if (*queued || going) return std::optional<FinalState>();
  const auto totals = read_totals(run);
  auto outcome = explain_jobs(run.plan, run.dir, run.job_id, ended, totals);
  add_times(ended.empty() ? SlurmJob{} : ended.front(), seconds_of(ended), outcome);
  auto summary = to_json(final_summary(system, run, outcome, totals));
  return std::optional(
      FinalState{std::move(outcome), std::move(summary), ended, totals.end_status()});
}

Result<std::optional<FinalState>> finalize_run(System& system, const StoredRun& run) {
  if (!run.summary.is_null() || owner_of(run.dir)) return std::optional<FinalState>();
  auto end = read_final_state(system, run);
  if (!end || !*end) return end;
  auto written = write_file(run.dir.summary(), file_text((*end)->summary));
  // A directory that is not writable can still be read.
  if (!written) system.log("dllaunch: warning: " + written.error().what + "\n");
  return end;
}

std::string command_to_go_on(const StoredRun& run) {
  std::vector<std::string> argv = {"dllaunch", "run", run.dir.job_yaml(), "--run-dir",
                                   run.dir.path};
  if (run.plan.launcher == Launcher::local) argv.emplace_back("--local");
  return shell_join(argv);
}

}  // namespace dllaunch
