#include "launcher/daemon/submitter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "launcher/daemon/policy.hpp"
#include "launcher/launch/submission.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/run/array_progress.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/submit_folder.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

constexpr double failed_nodes_within_s = 7 * 86400.0;
constexpr std::ptrdiff_t most_never_sent = 5;  // consecutive, per run

}  // namespace

std::vector<std::string> options_of_submission(const std::string& script_text,
                                               const Submission& submission,
                                               const std::vector<std::string>& failed,
                                               const std::string& folder) {
  const auto options = options_of_script(script_text);
  std::vector<std::string> more = {
      comment_option(option_value(options, "--comment"), submission.token)};
  const auto exclude = exclude_list(option_value(options, "--exclude"), failed);
  if (!failed.empty()) more.push_back("--exclude=" + exclude);
  if (!folder.empty() && option_value(options, "--chdir").empty())
    more.push_back("--chdir=" + folder);
  return more;
}

namespace {

SubmissionIntent intent_of(System& system, const Submission& submission, const RunDir& dir) {
  return {.token = submission.token,
          .script = submitted_script(system, dir),
          .judged = submission.judged,
          .intended_s = submission.intended_s};
}

}  // namespace

Result<Ok> Submitter::adopt(RunRecord& run, Submission& submission, const std::string& job_id,
                            double now_s) {
  const RunDir dir{.path = run.dir};
  const auto known = system_.read_file(dir.job_id());
  // A job that has started wrote its own id, and its saved state is newer.
  if (!known || job_id_in(*known) != job_id) {
    auto kept = write_file(dir.job_id(), job_id + "\n");
    if (!kept) system_.log("dllaunch: warning: " + kept.error().what + "\n");
  }
  remember_job(system_, dir, job_id, submission.token, submitted_script(system_, dir));
  // A stale id would be mistaken for the user's later submission.
  if (auto kept = sync_folder(dir.path); !kept)
    system_.log("dllaunch: warning: " + kept.error().what + "\n");
  submission.state = SubmissionState::submitted;
  submission.job_id = job_id;
  run.job_id = job_id;
  run.state = "pending";
  run.where.clear();
  run.over = false;
  run.began_s = now_s;
  run.ended_s = 0;
  run.seconds = 0;
  run.reason.clear();
  run.decision = fmt::format("submitted again as job {}: {}", job_id, submission.reason);
  system_.log(fmt::format("{}: {}\n", run.name, run.decision));
  return store_.decide(
      {.run = run,
       .submissions = {submission},
       .notice =
           Notice{.time_s = now_s, .event = "submitted", .run = run.dir, .message = run.decision}});
}

Result<Ok> Submitter::send(RunRecord& run, const RunRecord& before, Submission& submission,
                           double now_s) {
  // sbatch inherits the lock, so the next daemon sees whether it still runs.
  auto lock = DaemonLock::take(paths_.submit_lock());
  if (!lock) return std::move(lock).error();
  const RunDir dir{.path = run.dir};
  const auto files = executed_files(system_, dir);
  if (!files && files.error().kind == ErrorKind::unavailable) return files.error();
  const auto script = files ? system_.read_file(files->sbatch_script()) : std::string();
  if (!script) return script.error();
  auto failed = store_.failed_nodes(now_s - failed_nodes_within_s, 2);
  if (!failed) return std::move(failed).error();
  // Without the failed nodes there may be too few: after a refusal, allow all nodes.
  if (submission.takes_all_nodes) failed->clear();
  auto more = options_of_submission(*script, submission, *failed,
                                    submit_folder(system_, dir.path).value_or(""));
  const auto array = parse_array_tasks(option_value(options_of_script(*script), "--array"));
  if (array) more.push_back("--array=" + to_string(tasks_left(dir, *array)));
  submission.exclude = fmt::format("{}", fmt::join(*failed, ","));
  // Before sbatch: after a crash, an old summary must not pass for the new job's.
  const auto summary = system_.read_file(dir.summary());
  forget_summary(dir);
  lock->share_with_children(true);
  const auto [id, refused] = files ? submit_job(system_, files->sbatch_script(), more)
                                   : Submitted{.id = files.error(), .refused = true};
  lock->share_with_children(false);
  if (id) return adopt(run, submission, *id, now_s);
  submission.message = id.error().what;
  system_.log(fmt::format("{}: {}\n", run.name, submission.message));
  if (!refused) return Ok{};
  if (auto put_back = summary ? write_file(dir.summary(), *summary) : Result<Ok>(Ok{}); !put_back)
    system_.log("dllaunch: warning: " + put_back.error().what + "\n");
  submission.state = SubmissionState::refused;
  // Undo: the next daemon decides on that end again.
  run = before;
  run.decision = submission.message;
  return store_.decide({.run = run, .submissions = {submission}, .notice = {}});
}

Result<Submission> Submitter::submit(RunRecord& run, RunRecord meant, const SubmitWish& wish,
                                     double now_s) {
  const RunDir dir{.path = run.dir};
  const auto lock = RunLock::take(dir);
  if (!lock) return lock.error();
  const auto text = system_.read_file(dir.job_id());
  if (text && job_id_in(*text).value_or("") != run.job_id)
    return Error{
        ErrorKind::bad_request,
        fmt::format("{} now has another job, {}", run.name, job_id_in(*text).value_or("none")), ""};
  Submission submission{.token = new_token(),
                        .run = run.id,
                        .judged = run.job_id,
                        .reason = wish.reason,
                        .intended_s = now_s,
                        .takes_all_nodes = wish.takes_all_nodes};
  meant.judged = run.job_id;
  meant.wish.clear();
  meant.state = state_submitting;
  ++meant.submissions;
  auto kept = store_.decide({.run = meant, .submissions = {submission}, .notice = {}});
  if (!kept) return std::move(kept).error();
  // The intent is stored; from here recover() completes it, whatever fails.
  auto before = std::exchange(run, std::move(meant));
  before.wish.clear();
  auto sent = send(run, before, submission, now_s);
  if (!sent) return std::move(sent).error();
  return submission;
}

Result<bool> Submitter::recover_one(Submission submission, double now_s) {
  auto run = store_.find_id(submission.run);
  if (!run) return std::move(run).error();
  if (!*run) return false;
  const RunDir dir{.path = (*run)->dir};
  auto found = find_submitted(system_, intent_of(system_, submission, dir));
  if (!found) {
    missed_since_.clear();
    return std::move(found).error();
  }
  // A site may change comments; the script writes its job id when it starts.
  const auto written = system_.read_file(dir.job_id());
  const auto newest = written ? job_id_in(*written) : std::nullopt;
  const bool other = newest && *newest != submission.judged && newest != *found;
  if (other && *found) return step_back(**run, std::move(submission), **found, *newest, now_s);
  if (other) *found = newest;
  if (*found) {
    missed_since_.erase(submission.token);
    // A follower has written the job id; one that is about to is waited for.
    std::optional<Result<RunLock>> lock;
    if (newest != *found) lock.emplace(RunLock::take(dir));
    if (lock && !*lock) return false;
    auto kept = adopt(**run, submission, **found, now_s);
    if (!kept) return std::move(kept).error();
    return true;
  }
  // Two queries this far apart: a delayed request has arrived by the second.
  const auto since = missed_since_.try_emplace(submission.token, now_s).first->second;
  if (now_s == since || now_s - since < settle_s_) return false;
  return send_anew(**run, std::move(submission), now_s);
}

/// The user has submitted the run meanwhile: that job is the run's, and the daemon's is cancelled.
Result<bool> Submitter::step_back(RunRecord& run, Submission submission, const std::string& ours,
                                  const std::string& theirs, double now_s) {
  auto ended = cancel_job(system_, ours);
  if (!ended) return std::move(ended).error();
  submission.state = SubmissionState::submitted;
  submission.job_id = ours;
  submission.message = fmt::format("cancelled: its user submitted job {} meanwhile", theirs);
  run.job_id = theirs;
  run.state = "pending";
  run.began_s = now_s;
  run.decision = fmt::format("job {} {}", ours, submission.message);
  system_.log(fmt::format("{}: {}\n", run.name, run.decision));
  auto kept = store_.decide({.run = run, .submissions = {submission}, .notice = {}});
  if (!kept) return std::move(kept).error();
  return true;
}

/// The submission never arrived: submit under a new token, in case the old one appears after all.
Result<bool> Submitter::send_anew(RunRecord& run, Submission submission, double now_s) {
  const RunDir dir{.path = run.dir};
  const auto lock = RunLock::take(dir);
  if (!lock) return false;
  const auto written = system_.read_file(dir.job_id());
  // Another process submitted first; the next round finds its job.
  if (written && job_id_in(*written).value_or(submission.judged) != submission.judged) return false;
  auto past = store_.submissions_of(run.id, most_never_sent);
  if (!past) return std::move(past).error();
  missed_since_.erase(submission.token);
  submission.state = SubmissionState::never_sent;
  const bool cancelled = run.wish == "cancel" || run.wish == "leave";
  const auto lost = std::count_if(past->begin(), past->end(), [](const Submission& one) {
    return one.state == SubmissionState::never_sent;
  });
  if (cancelled || lost + 1 >= most_never_sent) {
    run.wish.clear();
    run.cancelled = cancelled;
    run.over = true;
    run.state = cancelled ? to_string(RunStatus::cancelled) : "ended";
    run.ended_s = now_s;
    run.decision = cancelled ? "you cancelled it before it was submitted again"
                             : "not submitted: sbatch repeatedly ended without a message";
    const Notice notice{
        .time_s = now_s, .event = "gave_up", .run = run.dir, .message = run.decision};
    auto closed = store_.decide({.run = run, .submissions = {submission}, .notice = notice});
    if (!closed) return std::move(closed).error();
    return true;
  }
  Submission again{.token = new_token(),
                   .run = submission.run,
                   .judged = submission.judged,
                   .reason = submission.reason,
                   .intended_s = now_s};
  auto before = run;
  before.state = "ended";
  before.judged.clear();
  before.submissions = std::max(0, run.submissions - 1);
  auto closed = store_.decide({.run = run, .submissions = {submission, again}, .notice = {}});
  if (closed) closed = send(run, before, again, now_s);
  if (!closed) return std::move(closed).error();
  return again.state != SubmissionState::intended;
}

/// A submission considered lost may still appear after a long hang of the controller, as a second
/// job of the run: cancel it.
void Submitter::end_late_ones(double now_s) {
  constexpr double pause_s = 60;
  constexpr double worth_s = 3600;
  if (now_s < next_late_s_) return;
  next_late_s_ = now_s + pause_s;
  const auto past = store_.never_sent(now_s - worth_s);
  if (!past || past->empty()) return;
  const auto queue = own_jobs(system_, /*ended=*/false);
  if (!queue) return;
  for (const auto& submission : *past) {
    const auto late = job_with_token(*queue, submission.token);
    const auto run = store_.find_id(submission.run);
    if (!late || !run || !*run || (*run)->job_id == *late) continue;
    const auto ended = cancel_job(system_, *late);
    system_.log(fmt::format("{}: job {} appeared late and is a duplicate: {}\n", (*run)->name,
                            *late, ended ? "cancelled" : ended.error().what));
  }
}

std::vector<std::int64_t> Submitter::recover(double now_s, const Answers& answers) {
  std::vector<std::int64_t> changed;
  end_late_ones(now_s);
  const auto open = store_.open_submissions();
  if (!open || open->empty()) return changed;
  if (holder_of(paths_.submit_lock())) {
    missed_since_.clear();
    return changed;
  }
  for (const auto& submission : *open) {
    const auto run = store_.find_id(submission.run);
    if (answers && run && *run && !answers((*run)->dir)) continue;
    auto known = recover_one(submission, now_s);
    if (!known) {
      system_.log("dllaunch: " + known.error().what + "\n");
      return changed;
    }
    if (*known) changed.push_back(submission.run);
  }
  return changed;
}

}  // namespace dllaunch
