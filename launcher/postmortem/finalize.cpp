#include "launcher/postmortem/finalize.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "launcher/accounting/books.hpp"
#include "launcher/accounting/read_books.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/run_size.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

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

/// `run` reads its run before it submits.
std::string job_of(System& system, const StoredRun& run) {
  if (!run.job_id.empty()) return run.job_id;
  const auto text = system.read_file(run.dir.job_id());
  return text ? job_id_in(*text).value_or("") : "";
}

/// The summary of the submission before; nullopt: there was none; null: it is damaged.
std::optional<Json> read_earlier(System& system, const RunDir& dir) {
  std::error_code ignored;
  if (!std::filesystem::exists(dir.earlier_summary(), ignored)) return std::nullopt;
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  const auto text = read_run_file(system, dir.earlier_summary(), most_bytes);
  return text ? json_object_in(*text) : Json();
}

bool is_of(const std::optional<Json>& summary, const std::string& submission) {
  return summary && !submission.empty() &&
         value_at<std::string>(*summary, "submission") == submission;
}

void add_earlier(const std::optional<Json>& earlier, Summary& summary) {
  if (!earlier) return;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto before =
      std::clamp<std::int64_t>(value_at<std::int64_t>(*earlier, "submissions", 1), 1, most - 1);
  // A process was killed between setting it aside and the next submission: it counts this one.
  const bool counted = is_of(earlier, summary.submission);
  const auto books = books_from(*earlier);
  summary.books = counted ? books : sum_of(books, summary.books);
  summary.submissions = counted ? before : before + 1;
}

/// The summary of a job of which Slurm tells nothing: its books are unknown.
Summary summary_of_unknown(System& system, const StoredRun& run) {
  auto summary =
      summary_of({.status = RunStatus::failed, .reason = "Slurm does not tell how it ended"},
                 read_totals(run.dir, run.began_at_s), run.plan.ranks(), run.trains);
  summary.submission = submission_name(run.plan, run.job_id, run.dir);
  add_earlier(read_earlier(system, run.dir), summary);
  return summary;
}

/// How the latest local start ended, if its dllaunch was killed; nullopt: it started no rank.
std::optional<Outcome> end_of_killed(const StoredRun& run) {
  // Each start adds a name, here and under a supervisor. Its output may stay empty.
  if (changed_at_s(run.dir.path + "/.lease") < run.began_at_s) return std::nullopt;
  return Outcome{.status = RunStatus::failed, .reason = killed_unseen, .unseen = true};
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

Summary summary_of(const Outcome& outcome, const RunTotals& totals, int ranks, bool trains,
                   double most_seconds) {
  auto summary = summarize(totals, outcome.status, outcome.seconds, ranks, most_seconds);
  summary.queue_seconds = outcome.queue_seconds;
  // A requeued trainer that resumed has reported the same restart: count it once.
  summary.restarts = std::max(summary.restarts, outcome.restarts);
  if (trains) summary.epochs = totals.epochs();
  summary.tasks = outcome.tasks;
  summary.unseen = outcome.unseen;
  summary.reason = outcome.reason;
  summary.first_error = outcome.first_error;
  summary.advice = outcome.advice;
  return summary;
}

Summary final_summary(System& system, const StoredRun& run, const Outcome& outcome,
                      const RunTotals& totals) {
  const auto job = job_of(system, run);
  const int ranks = ranks_now(run.plan, sizes_in(read_journal(run.dir), run.plan, job));
  auto summary = summary_of(outcome, totals, ranks, run.trains,
                            seconds_since_began(run.dir, run.plan.launcher));
  if (ranks < run.plan.ranks()) summary.planned_ranks = run.plan.ranks();
  summary.books = read_books(system, run.plan, run.dir, outcome, summary, totals.history());
  summary.submission = submission_name(run.plan, job, run.dir);
  add_earlier(read_earlier(system, run.dir), summary);
  return summary;
}

Json all_hours_so_far(System& system, const StoredRun& run, double seconds) {
  Summary summary;
  summary.books =
      hours_so_far(run.plan, run.dir, seconds, read_totals(run.dir, run.began_at_s).history());
  summary.submission = submission_name(run.plan, run.job_id, run.dir);
  add_earlier(read_earlier(system, run.dir), summary);
  return {{"core_hours", or_null(summary.books.core_hours)},
          {"gpu_hours", or_null(summary.books.gpu_hours)},
          {"submissions", summary.submissions}};
}

std::string summary_text(const Summary& summary) {
  return json_text(to_json(summary));
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
  const auto totals = read_totals(run.dir, run.began_at_s);
  auto outcome = explain_jobs(run.plan, run.dir, run.job_id, ended, totals);
  // How long a job that Slurm has forgotten took is not known.
  if (!ended.empty()) add_times(ended.front(), seconds_of(ended), outcome);
  auto summary = to_json(final_summary(system, run, outcome, totals));
  return std::optional(
      FinalState{std::move(outcome), std::move(summary), ended, totals.end_status()});
}

Result<std::optional<FinalState>> finalize_run(System& system, const StoredRun& run) {
  if (!run.summary.is_null() || owner_of(run.dir)) return std::optional<FinalState>();
  auto end = read_final_state(system, run);
  if (!end || !*end) return end;
  if (!write_end(system, run, (*end)->summary)) return std::optional<FinalState>();
  return end;
}

bool write_end(System& system, const StoredRun& run, const Json& summary) {
  const auto lock = RunLock::take(run.dir);
  const auto now = read_stored_run(system, run.dir.path);
  if (now && now->job_id != run.job_id) return false;
  if (now && !now->summary.is_null()) return true;
  if (!lock && owner_of(run.dir)) return true;
  const auto written =
      lock ? write_file(run.dir.summary(), json_text(summary)) : Result<Ok>(lock.error());
  // A directory that is not writable can still be read.
  if (!written) system.log("dllaunch: warning: " + written.error().what + "\n");
  return true;
}

bool close_submission(System& system, const RunDir& dir) {
  const auto run = read_stored_run(system, dir.path);
  if (!run || !run->summary.is_null()) return false;
  const auto name = submission_name(run->plan, run->job_id, dir);
  if (name.empty() || is_of(read_earlier(system, dir), name)) return false;
  Json summary;
  if (run->plan.launcher == Launcher::slurm) {
    const auto end = read_final_state(system, *run);
    summary = end && *end ? (*end)->summary : to_json(summary_of_unknown(system, *run));
  } else {
    const auto outcome = end_of_killed(*run);
    if (!outcome) return false;
    summary =
        to_json(final_summary(system, *run, *outcome, read_totals(run->dir, run->began_at_s)));
  }
  auto written = write_file(dir.summary(), json_text(summary));
  if (!written) system.log("dllaunch: warning: " + written.error().what + "\n");
  return value_at<std::string>(summary, "status") == "completed";
}

std::string command_to_go_on(System& system, const RunDir& run) {
  // A component continues with its whole.
  const auto whole = whole_of(run.path);
  return "dllaunch run " + shell_quote(word_for_run(system, whole.empty() ? run.path : whole));
}

}  // namespace dllaunch
