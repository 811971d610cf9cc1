// One run within a round of RunWatch: alive, ended, decided.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <utility>

#include "launcher/accounting/read_books.hpp"
#include "launcher/daemon/run_watch.hpp"
#include "launcher/daemon/usage.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/run/array_progress.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/submit_folder.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr double day_s = 86400;
constexpr double week_s = 7 * day_s;

Canceller canceller_of(const std::vector<SlurmJob>& jobs) {
  if (jobs.empty() || jobs.front().cancelled_by.empty()) return Canceller::unknown;
  const auto& by = jobs.front().cancelled_by;
  if (by == user_name(geteuid())) return Canceller::user;
  return by == "root" || by == "slurm" || by == "uid 0" ? Canceller::system : Canceller::unknown;
}

/// Whether RUN/checkpoints holds something newer than the job's last start: the built-in trainer
/// writes folders, a command anything.
bool has_new_checkpoint(const RunDir& dir, double started_s) {
  double newest_s = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(dir.checkpoints(), error), end; !error && at != end;
       at.increment(error)) {
    struct stat info {};
    if (at->path().filename().string().starts_with('.') || stat(at->path().c_str(), &info) != 0)
      continue;
    newest_s = std::max(newest_s, static_cast<double>(info.st_mtim.tv_sec) +
                                      1e-9 * static_cast<double>(info.st_mtim.tv_nsec));
  }
  return newest_s > started_s;
}

/// Slurm requeues a job under the same id: checkpoints of an earlier start are not progress of this
/// one.
double last_start_s(const StoredRun& run, const std::vector<SlurmJob>& jobs) {
  const auto started = jobs.empty() ? std::nullopt : parse_slurm_time(jobs.front().start);
  return std::max(run.began_at_s, static_cast<double>(started.value_or(0)));
}

std::vector<std::string> options_in(System& system, const RunDir& dir) {
  const auto script = system.read_file(dir.sbatch_script());
  return script ? options_of_script(*script) : std::vector<std::string>();
}

bool says_no_requeue(const std::string& line) {
  const auto option = option_of_line(line);
  return option && option->first == "--no-requeue";
}

RunStatus status_named(const std::string& word, RunStatus otherwise) {
  constexpr std::array all = {RunStatus::completed,    RunStatus::failed,    RunStatus::cancelled,
                              RunStatus::timeout,      RunStatus::preempted, RunStatus::node_fail,
                              RunStatus::out_of_memory};
  const auto* found = std::find_if(all.begin(), all.end(),
                                   [&](RunStatus status) { return to_string(status) == word; });
  return found == all.end() ? otherwise : *found;
}

bool is_slurm_job(const StoredRun& run) {
  return run.plan.launcher == Launcher::slurm && !run.job_id.empty();
}

/// Returns the input of decide(), without the user's settings.
EndedJob ended_job_of(const StoredRun& run, const FinalState& final_state, RunStatus status,
                      const std::string& job_id) {
  const auto& jobs = final_state.jobs;
  const auto journal = read_journal(run.dir);
  // A supervisor that was asked to stop has not given the run up: who cancelled the job decides.
  const bool asked = status == RunStatus::cancelled && journal.last &&
                     journal.last->status == RunStatus::cancelled;
  return {.status = status,
          .exit_code = jobs.empty() ? final_state.outcome.exit_code : jobs.front().exit_code,
          .array = run.plan.array.has_value(),
          .slurm = true,
          .canceller = canceller_of(jobs),
          .new_checkpoint = has_new_checkpoint(run.dir, last_start_s(run, jobs)),
          .completed = final_state.end_status == "completed" || finished_in_job(run.dir) == job_id,
          .forgotten = jobs.empty(),
          .stopped = asked ? "" : stopped_in(journal, job_id)};
}

}  // namespace

RecoveryWishes recovery_wishes(System& system, const RunDir& dir) {
  RecoveryWishes wishes;
  const auto options = options_in(system, dir);
  wishes.may_start_again = std::none_of(options.begin(), options.end(), says_no_requeue);
  const auto text = system.read_file(dir.job_yaml());
  if (!text) return wishes;
  const auto job = parse_job(*text, dir.job_yaml(), {}).job;
  if (!job) return wishes;
  // A command not declared restartable starts from its beginning.
  if (job->train.is_null() && !job->recovery.written)
    wishes.requeue_on = {"preempted", "node_fail"};
  const auto recovery = job->resolved.find("recovery");
  if (recovery == job->resolved.end() || !job->recovery.written) return wishes;
  const auto causes = recovery->find("requeue_on");
  if (causes == recovery->end() || !causes->is_array()) return wishes;
  wishes.requeue_on.clear();
  for (const auto& cause : *causes)
    if (cause.is_string()) wishes.requeue_on.push_back(cause.get<std::string>());
  return wishes;
}

/// Reads the files again if the job id or the summary changed.
bool RunWatch::read_files(LiveRun& run) {
  const RunDir dir{.path = run.record.dir};
  const auto job_id = stamp_of(dir.job_id());
  const auto summary = stamp_of(dir.summary());
  if (run.files.began_at_s > 0 && job_id == run.job_id && summary == run.summary) return true;
  auto files = read_stored_run(system_, run.record.dir);
  if (!files) {
    run.record.reason = files.error().what;
    return false;
  }
  run.files = *std::move(files);
  run.job_id = job_id;
  run.summary = summary;
  if (run.files.job_id != run.record.job_id && !run.files.job_id.empty()) {
    run.record.job_id = run.files.job_id;
    run.record.judged.clear();
    run.ended.reset();
    run.events.reset();
  }
  if (!run.events) run.events.emplace(dir.events(), run.files.began_at_s - 1);
  return true;
}

void RunWatch::look_at(LiveRun& run, double now_s) {
  if (run.record.state == state_submitting) return;  // handled by recover()
  if (!read_files(run)) {
    miss(run, now_s);
    keep(run);
    return;
  }
  run.away_since_s = 0;
  const auto run_state = run_state_without_progress(run.files, queue_, now_s);
  // The submitting process is gone; the index reports a new attempt.
  constexpr double long_ago_s = 3600;
  if (run_state.state == "not submitted" && now_s - run.record.began_s > long_ago_s) {
    run.record.state = run_state.state;
    run.record.over = true;
    keep(run);
    return;
  }
  const bool wished = !run.record.wish.empty();
  const bool cancels = run.record.wish == "cancel" && !is_over(run_state);
  if (wished) grant(run, run_state, now_s);
  // Effects of a request are seen in the next round.
  if (run_state.state == "unknown" || (wished && !cancels)) {
    keep(run);
    return;
  }
  if (!is_over(run_state)) {
    keep_alive(run, run_state, now_s);
  } else if (run.ended) {
    judge(run, now_s);
  } else {
    take_progress(run);
    end(run, now_s);
  }
  keep(run);
}

/// Leaves the run's state unchanged until its file system responds.
void RunWatch::leave_away(LiveRun& run) {
  run.record.reason = "its directory does not answer";
  keep(run);
}

/// A file system may be away for a while, a removed directory is gone for good. Without a job in
/// the queue, the run is not queried meanwhile.
void RunWatch::miss(LiveRun& run, double now_s) {
  const bool queued =
      !queue_.answered ||
      !jobs_of(queue_, identity_of(run.files.plan, run.files.dir, run.record.job_id)).empty();
  if (run.away_since_s == 0 && (!queued || run.record.job_id.empty())) run.away_since_s = now_s;
  if (run.away_since_s == 0 || now_s - run.away_since_s < week_s) return;
  run.record.over = true;
  run.record.decision = "its directory no longer exists";
}

void RunWatch::keep_alive(LiveRun& run, const RunState& run_state, double now_s) {
  auto& record = run.record;
  const bool fell_back = record.state == "running" && run_state.state == "pending";
  if (fell_back) note_lost_nodes(run, record.where, now_s);
  if (record.judged == record.job_id) record.judged.clear();
  record.state = run_state.state;
  record.seconds = run_state.seconds.value_or(0);
  record.where = run_state.where;
  record.reason = run_state.state == "pending" && !run_state.jobs.empty()
                      ? explain_reason(run_state.jobs.front().reason)
                      : "";
  take_progress(run);
}

void RunWatch::take_progress(LiveRun& run) {
  if (!run.events || !run.events->look()) return;
  auto& record = run.record;
  const auto& progress = run.events->progress();
  record.epoch = progress.epoch.value_or(record.epoch);
  record.step = progress.step.value_or(record.step);
  record.loss = progress.loss.value_or(record.loss);
  record.val_accuracy = progress.val_accuracy.value_or(record.val_accuracy);
  record.images_per_s = progress.images_per_s.value_or(record.images_per_s);
}

/// Records the job's nodes that are out of order. A resubmitted job does not wait for them.
void RunWatch::note_lost_nodes(LiveRun& run, const std::string& where, double now_s) {
  const auto nodes = nodes_of_controller(system_, where);
  if (!nodes) return;
  bool any = false;
  for (const auto& node : *nodes) {
    // A node drained by an administrator has not failed.
    if (!is_gone(node.state)) continue;
    any = true;
    auto kept = store_.node_failed(node.name, run.record.job_id, now_s);
    system_.log(fmt::format("{}: node {} failed under job {}{}\n", run.record.name, node.name,
                            run.record.job_id, kept ? "" : ": " + kept.error().what));
  }
  const auto failed = store_.failed_nodes(now_s - week_s, 2);
  if (!any || !failed || failed->empty() || run.record.state != "running") return;
  std::string by_user;
  for (const auto& line : options_in(system_, {.path = run.record.dir}))
    if (const auto option = option_of_line(line); option && option->first == "--exclude")
      by_user = option->second;
  const auto list = exclude_list(by_user, *failed);
  if (!set_excluded_nodes(system_, run.record.job_id, list)) return;
  run.record.decision = fmt::format("back in the queue; left out: {}", list);
  auto kept = store_.decide({.run = run.record,
                             .submissions = {},
                             .notice = Notice{.time_s = now_s,
                                              .event = "excluded",
                                              .run = run.record.dir,
                                              .message = run.record.decision}});
  if (!kept) system_.log("dllaunch: " + kept.error().what + "\n");
}

void RunWatch::finish(LiveRun& run, const std::string& event, double now_s) {
  auto record = run.record;
  record.over = true;
  record.judged = record.job_id;
  record.ended_s = now_s;
  const auto message = fmt::format("{}: {}{}{}", record.name, record.state,
                                   record.decision.empty() ? "" : "; ", record.decision);
  auto kept = store_.decide(
      {.run = record,
       .submissions = {},
       .notice = Notice{.time_s = now_s, .event = event, .run = record.dir, .message = message}});
  // A later round decides again, and sends the notice.
  if (!kept) return system_.log("dllaunch: " + kept.error().what + "\n");
  system_.log(message + "\n");
  run.stored = run.record = std::move(record);
}

/// The job has left the queue: how did it end, and should it be resubmitted?
void RunWatch::end(LiveRun& run, double now_s) {
  auto& record = run.record;
  const bool judged = record.judged == record.job_id;
  const auto stored = stored_status(run.files);
  if (!is_slurm_job(run.files) || (judged && !stored.empty())) {
    record.state = run_state_without_progress(run.files, queue_, now_s).state;
    record.over = true;
    if (record.ended_s == 0) record.ended_s = now_s;
    return;
  }
  if (--ends_left_ < 0) return;
  const auto final_state =
      stored.empty() ? finalize_run(system_, run.files) : read_final_state(system_, run.files);
  if (!final_state) return wait_for_answer(run, final_state.error(), now_s);
  // A follower will record the end, or Slurm is still completing the job.
  record.state = stored.empty() ? "completing" : stored;
  if (!*final_state) return;
  note_end(run, **final_state, status_named(stored, (*final_state)->outcome.status), now_s);
  if (judged)
    record.over = true;
  else
    judge(run, now_s);
}

/// Tries again in the next round, for a limited time.
void RunWatch::wait_for_answer(LiveRun& run, const Error& why, double now_s) {
  if (run.unheard_since_s == 0) run.unheard_since_s = now_s;
  if (now_s - run.unheard_since_s < day_s) return;
  run.record.state = "ended";
  run.record.decision = "not submitted again: " + why.what;
  finish(run, "gave_up", now_s);
}

void RunWatch::note_end(LiveRun& run, const FinalState& final_state, RunStatus status,
                        double now_s) {
  auto& record = run.record;
  const auto& outcome = final_state.outcome;
  const auto& jobs = final_state.jobs;
  record.state = to_string(status);
  record.reason = outcome.reason;
  record.seconds = outcome.seconds;
  const double nodes = nodes_held(run.files.plan, run.files.dir, outcome.seconds);
  const double hours = gpu_hours(run.files.plan, nodes, outcome.seconds);
  if (auto kept = store_.used(record.job_id, hours, now_s); !kept)
    system_.log("dllaunch: " + kept.error().what + "\n");
  if (record.judged == record.job_id) return;
  run.ended = ended_job_of(run.files, final_state, status, record.job_id);
  if (status == RunStatus::node_fail && !jobs.empty())
    note_lost_nodes(run, jobs.front().nodes, now_s);
}

void RunWatch::judge(LiveRun& run, double now_s) {
  auto& record = run.record;
  run.ended->cancel_wished = record.cancelled;
  if (!record.cancelled && (now_s < run.retry_s || sbatch_hangs_)) return;
  const auto used = store_.gpu_hours(now_s - 30 * day_s);
  const auto action = decide(*run.ended, recovery_wishes(system_, run.files.dir),
                             {.submissions = record.submissions,
                              .without_progress = record.without_progress,
                              .system_cancels = record.system_cancels,
                              .refusals = run.refusals,
                              .refusal = run.refusal},
                             {.most_submissions = settings_.most_submissions,
                              .most_jobs = settings_.most_jobs,
                              .jobs = jobs_in_queue(),
                              .most_gpu_hours = settings_.most_gpu_hours,
                              .gpu_hours = used ? *used : 0});
  switch (action.verdict) {
    case RunVerdict::leave:
      record.decision.clear();
      finish(run, "ended", now_s);
      return;
    case RunVerdict::give_up:
      record.decision = "not submitted again: " + action.reason;
      finish(run, "gave_up", now_s);
      return;
    case RunVerdict::wait:
      record.decision = "waits to be submitted again: " + action.reason;
      return;
    case RunVerdict::submit:
      submit(run, action.reason, now_s);
      return;
  }
}

void RunWatch::submit(LiveRun& run, const std::string& reason, double now_s) {
  auto record = run.record;
  const auto& array = run.files.plan.array;
  const auto tasks = array ? parse_array_tasks(*array) : std::nullopt;
  if (tasks && tasks_left(run.files.dir, *tasks).numbers.empty()) {
    run.record.decision = "not submitted: all its tasks have completed";
    return;
  }
  // Its script would end with exit code 3 at once; a file system that is away comes back.
  const auto folder = submit_folder(system_, record.dir);
  if (folder && (!answers(*folder) || !system_.is_folder(*folder))) {
    run.record.decision =
        fmt::format("not submitted: {}, where it was submitted, is missing", *folder);
    run.retry_s = now_s + settings_.interval_s;
    return;
  }
  auto meant = record;
  if (run.ended) {
    meant.without_progress = run.ended->new_checkpoint ? 0 : record.without_progress + 1;
    meant.system_cancels += run.ended->status == RunStatus::cancelled ? 1 : 0;
  }
  const auto sent = submitter_.submit(
      record, std::move(meant), {.reason = reason, .takes_all_nodes = run.refusals > 0}, now_s);
  run.retry_s = now_s + settings_.interval_s * (1 << std::min(run.refusals, 6));
  if (!sent) {
    // The intent is stored: only recover() may continue it.
    if (record.submissions != run.record.submissions) run.stored = run.record = record;
    run.record.decision = "not submitted: " + sent.error().what;
    return;
  }
  run.stored = run.record = record;
  if (sent->state == SubmissionState::submitted) {
    ++submissions_;
    ++submitted_now_;
    run.ended.reset();
    run.files.began_at_s = 0;  // read its files again
    run.events.reset();
    run.refusals = 0;
    return;
  }
  if (sent->state == SubmissionState::intended) {
    sbatch_hangs_ = true;
    run.ended.reset();
    return;
  }
  ++run.refusals;
  run.refusal = sent->message;
  // A user's request is tried once.
  if (!run.ended) finish(run, "gave_up", now_s);
}

void RunWatch::grant(LiveRun& run, const RunState& run_state, double now_s) {
  auto& record = run.record;
  if (run_state.state == "unknown") return;
  // The job is about to end.
  if (record.wish == "requeue" && run_state.state == "completing") return;
  if (record.wish == "cancel") {
    cancel(run, run_state, now_s);
    return;
  }
  if (record.wish == "leave") {
    record.cancelled = true;
    record.wish.clear();
    return;
  }
  if (run.files.plan.launcher != Launcher::slurm) {
    record.decision = "not submitted: it ran without Slurm";
  } else if (is_over(run_state)) {
    record.cancelled = false;
    submit(run, "you asked for it", now_s);
  } else if (run_state.state != "running") {
    record.decision = "not requeued: it is " + run_state.state;
  } else {
    const auto told = run_requeue(system_, record.job_id);
    record.decision = told && told->exit_code == 0
                          ? "requeued: you asked for it"
                          : "not requeued: " + (told ? told->err : told.error().what);
  }
  record.wish.clear();
}

/// As `dllaunch cancel`: asks the ranks to save, and ends them when their time is up.
void RunWatch::cancel(LiveRun& run, const RunState& run_state, double now_s) {
  auto& record = run.record;
  if (is_over(run_state)) {
    record.wish.clear();
    if (!std::exchange(record.cancelled, true)) record.decision = "it had already ended";
    return;
  }
  record.cancelled = true;
  const auto& plan = run.files.plan;
  if (plan.launcher != Launcher::slurm) {
    const bool here = run_state.owner && run_state.owner->host == system_.host_name() &&
                      run_state.owner->pid > 0 &&
                      holds_lock(run_state.run.dir, run_state.owner->pid);
    if (here) kill(run_state.owner->pid, SIGTERM);
    record.decision = here ? "asked to save and stop: you cancelled it"
                           : "not cancelled: it runs on another machine";
    record.wish.clear();
    return;
  }
  if (const auto own = check_own_job(system_, plan, run.files.dir, record.job_id); !own) {
    record.decision = "not cancelled: " + own.error().what;
    if (own.error().kind == ErrorKind::bad_request) record.wish.clear();
    return;
  }
  const bool asks = run_state.state == "running" && plan.asks_ranks;
  if (asks && !run.cancel_asked) {
    run.cancel_asked = true;
    const auto asked = signal_script(system_, record.job_id, plan.signal);
    record.decision = asked ? "asked to save and stop: you cancelled it" : asked.error().what;
    return;
  }
  if (asks && now_s < record.wished_s + plan.grace_seconds) return;
  const auto done = cancel_job(system_, record.job_id);
  record.decision = done ? "you cancelled it" : done.error().what;
  if (done) record.wish.clear();
}

}  // namespace dllaunch
