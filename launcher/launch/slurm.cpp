#include "launcher/launch/slurm.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iostream>
#include <string_view>
#include <utility>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/launch/submission.hpp"
#include "launcher/monitor/hold_notice.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/postmortem/failure_summary.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/slurm/array_tasks.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/option_overrides.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The components of a heterogeneous job start and wait together; the first has the script.
QueuedJob as_one(std::vector<QueuedJob> jobs) {
  // "12+2" before "12+10".
  std::ranges::sort(jobs, {}, [](const auto& job) { return std::pair(job.id.size(), job.id); });
  QueuedJob one = std::move(jobs.front());
  for (std::size_t i = 1; i < jobs.size(); ++i)
    if (!jobs[i].nodes.empty()) one.nodes += (one.nodes.empty() ? "" : ",") + jobs[i].nodes;
  return one;
}

std::string tasks(int count) {
  return fmt::format("{} task{}", count, count == 1 ? "" : "s");
}

/// Follows one job from submission to end.
class JobWatch {
 public:
  JobWatch(const RunOutline& plan, RunDir run, Follower& follower, System& system,
           const SlurmSettings& settings, JobIdentity job)
      : plan_(plan),
        follower_(follower),
        system_(system),
        settings_(settings),
        job_(std::move(job)),
        id_(job_.id),
        run_(std::move(run)),
        hold_(id_),
        pause_(settings.first_look),
        last_answer_(Clock::now()) {}

  /// Returns when the job has ended, was detached, or is lost.
  Result<Ok> follow(const StopSignals& signals) {
    bool cancel = settings_.cancel;
    while (true) {
      if (Clock::now() >= next_look_) {
        auto looked = look();
        if (!looked) return looked;
      }
      if (over_ || detached_) return Ok{};
      if (std::exchange(cancel, false)) begin_cancel();
      follower_.poll();
      tell_of_hold();
      if (signals.count() > seen_) {
        seen_ = signals.count();
        stop(signals.latest());
      }
      press_cancel();
      signals.wait(milliseconds(100));
    }
  }

  bool detached() const { return detached_; }
  bool cancelled() const { return cancel_at_.has_value() || cancel_sent_; }
  const std::vector<SlurmJob>& end() const { return end_; }
  /// Returns why the job could never start; empty: it could.
  const std::string& given_up() const { return given_up_; }

 private:
  /// The supervisor says it on its node only.
  void tell_of_hold() {
    const auto now = Clock::now();
    if (!running_ || now < next_journal_) return;
    next_journal_ = now + seconds(plan_.recovery.hold_seconds > 0 ? 1 : 5);
    const auto words = hold_.look(read_journal(run_), run_, unix_seconds());
    if (!words.empty()) follower_.say(fmt::format("job {}: {}", id_, words));
  }

  Result<Ok> look() {
    auto queued = queued_jobs(system_, id_);
    const auto now = Clock::now();
    pause_ =
        std::min(running_ ? settings_.longest_look : settings_.longest_wait, pause_ + pause_ / 2);
    next_look_ = now + (follower_.totals().ended() ? settings_.first_look : pause_);
    if (!queued) return controller_silent(queued.error());
    last_answer_ = now;
    if (silence_told_) follower_.say("dllaunch: Slurm answers again");
    silence_told_ = false;
    // Slurm may forget the job and reuse its id: another job must not be followed or cancelled.
    std::erase_if(*queued, [this](const QueuedJob& job) {
      return is_final_state(job.state) || !is_same_job(job_, job.origin);
    });
    if (!queued->empty()) {
      if (has_ended(*queued)) return Ok{};
      plan_.array ? show_tasks(*queued) : show(as_one(*queued));
      tell_of_waiting_step();
      return Ok{};
    }
    end_ = finished_jobs(system_, job_);
    // Left the queue, but still completing: decided at the next poll.
    over_ =
        std::ranges::all_of(end_, [](const SlurmJob& job) { return is_final_state(job.state); });
    return Ok{};
  }

  /// Slurm completes a job when each of its nodes has ended its processes, or is down: one that
  /// lost its power is down after SlurmdTimeout, 300 s by default. The supervisor's last decision
  /// tells how the run ended; the job's record does not, until then. Nodes that answer are waited
  /// for: an epilog may take its time.
  bool has_ended(const std::vector<QueuedJob>& jobs) {
    const bool completing = !plan_.array && std::ranges::all_of(jobs, [](const QueuedJob& job) {
      return job.state == "COMPLETING";
    });
    const auto journal = completing ? read_journal(run_) : Journal{};
    const auto& last = journal.last;
    if (!last || !journal.decided || last->next != Next::stop || last->wanted_requeue ||
        last->job != id_) {
      completing_since_.reset();
      return false;
    }
    const auto now = Clock::now();
    if (!completing_since_) completing_since_ = now;
    if (now - *completing_since_ < settings_.completing_patience) return false;
    completing_since_ = now;                // the nodes are asked once in a while
    const auto nodes = as_one(jobs).nodes;  // that Slurm waits for
    if (!is_any_away(nodes)) return false;
    auto ended = finished_jobs(system_, job_);
    // The decision of an earlier start of the job says nothing of this one.
    if (!ended.empty() && ended.front().restarts != last->allocation) return false;
    follower_.say(fmt::format("job {}: has ended; Slurm still waits for {}", id_, nodes));
    end_ = std::move(ended);
    for (auto& job : end_)
      if (!is_final_state(job.state))
        job.state = last->status == RunStatus::completed ? "COMPLETED" : "FAILED";
    return over_ = true;
  }

  /// A firewall may keep this machine from all the job's nodes: if none answers, only Slurm's word
  /// counts.
  bool is_any_away(const std::string& nodes) {
    const auto& all = nodes_.empty() ? nodes : nodes_;
    const auto away = nodes_out_of_order(system_, {.job = id_, .nodes = all});
    if (!away) return false;
    const auto out = expand_hosts(away->names);
    const auto of_job = expand_hosts(all);
    const auto waited_for = expand_hosts(nodes);
    if (!out || !of_job || !waited_for) return false;
    return (away->down || out->size() < of_job->size()) &&
           std::ranges::any_of(*out, [&](const std::string& host) {
             return std::ranges::find(*waited_for, host) != waited_for->end();
           });
  }

  /// srun itself says it only after a minute, in the rank's log.
  void tell_of_waiting_step() {
    constexpr seconds quiet(2);
    if (!running_ || plan_.array || !plan_.components.empty() || follower_.silence() < quiet ||
        !ranks_go_on(run_))
      return;
    const auto host = host_that_waits_for_a_step(system_, id_);
    // What dllaunch itself starts there may have to wait for a moment.
    if (!host.empty() && step_waited_) follower_.say_that_a_step_waits(host);
    step_waited_ = !host.empty();
  }

  Result<Ok> controller_silent(const Error& why) {
    if (!silence_told_) {
      follower_.say(fmt::format(
          "dllaunch: Slurm does not answer ({}); the job continues; still following it", why.what));
    }
    silence_told_ = true;
    const auto silence = Clock::now() - last_answer_;
    // Without an answer of Slurm, the run's own end event is enough.
    if (follower_.totals().ended() && silence > seconds(60)) over_ = true;
    if (silence < settings_.controller_patience) return Ok{};
    return Error{
        ErrorKind::unavailable,
        fmt::format("Slurm has not answered for {} minutes; job {} may still be running",
                    std::chrono::duration_cast<std::chrono::minutes>(silence).count(), id_),
        "squeue --me"};
  }

  /// A job may be requeued and started again between two polls; Slurm counts restarts. Queried only
  /// if the queue's answer changed.
  void look_for_restarts(const QueuedJob& job, bool waits) {
    const std::string seen = job.state + (waits ? job.reason : job.start);
    if (std::exchange(seen_state_, seen) == seen) return;
    const auto records = finished_jobs(system_, job_);
    const int restarts = records.empty() ? restarts_ : records.front().restarts;
    const bool more = restarts > std::exchange(restarts_, std::max(restarts_, restarts));
    const bool left = waits && running_;
    if (!more && !left) return;
    const std::string count = restarts > 0 ? fmt::format(" (restart {})", restarts) : "";
    follower_.say(fmt::format(
        "job {}: {}{}", id_,
        waits ? "back in the queue" : "was back in the queue, is running again", count));
    if (!waits) running_ = false;  // report where it runs now
  }

  void show(const QueuedJob& job) {
    const bool waits = is_waiting_state(job.state);
    look_for_restarts(job, waits);
    if (!waits && !running_) {
      follower_.waiting("");
      follower_.say(fmt::format("job {}: running on {}", id_, job.nodes));
      pause_ = settings_.first_look;
    }
    running_ = !waits;
    if (job.state == "RUNNING") nodes_ = job.nodes;
    if (!waits) return;
    follower_.waiting(fmt::format("job {}: {}", id_, explain_waiting(job.reason, job.start)));
    if (job.reason == "DependencyNeverSatisfied") give_up(explain_reason(job.reason));
  }

  /// Cancels the job: it would stay pending forever.
  void give_up(const std::string& why) {
    if (!given_up_.empty() || cancelled()) return;
    given_up_ = fmt::format("job {} was removed from the queue: {}", id_, why);
    auto done = cancel_job(system_, id_);
    if (!done) follower_.say("dllaunch: " + done.error().what);
    pause_ = settings_.first_look;
    next_look_ = Clock::now();
  }

  /// Shows an array by counts: its tasks' output is in their directories.
  void show_tasks(const std::vector<QueuedJob>& jobs) {
    int waiting = 0;
    int running = 0;
    for (const auto& job : jobs)
      (is_waiting_state(job.state) ? waiting : running) += jobs_with_id(job.id);
    running_ = running > 0;
    most_tasks_ = std::max(most_tasks_, running + waiting);
    const auto text = fmt::format("job {}: {} running, {} waiting, {} over", id_, tasks(running),
                                  waiting, most_tasks_ - running - waiting);
    if (text != tasks_told_) follower_.say(text);
    tasks_told_ = text;
  }

  void stop(int signal) {
    // A closed terminal detaches.
    if (signal == SIGHUP) {
      detached_ = true;
      return;
    }
    if (cancelled()) {
      cancel_at_ = Clock::now();  // again: cancel now
      return;
    }
    const auto choice = settings_.ask ? settings_.ask() : StopChoice::cancel;
    if (choice == StopChoice::detach) detached_ = true;
    if (choice == StopChoice::cancel) begin_cancel();
  }

  void begin_cancel() {
    cancel_at_ = Clock::now();
    if (settings_.at_once || !plan_.asks_ranks) return;
    // It may have started since the last look, half a minute ago.
    if (!running_) (void)look();
    if (!running_) return;
    // The job's own signal means that time is short, and the job would be requeued.
    auto asked = signal_script(system_, id_, "TERM");
    if (!asked) {
      follower_.say("dllaunch: " + asked.error().what);
      return;
    }
    follower_.say(fmt::format("dllaunch: asked the ranks to save and stop (up to {} s)",
                              plan_.grace_seconds));
    *cancel_at_ += seconds(plan_.grace_seconds);
    pause_ = settings_.first_look;
    next_look_ = Clock::now();
  }

  void press_cancel() {
    const auto now = Clock::now();
    if (cancel_at_ && now >= *cancel_at_ && !cancel_sent_) {
      follower_.say("dllaunch: cancelling job " + id_);
      auto done = cancel_job(system_, id_);
      if (!done) follower_.say("dllaunch: " + done.error().what);
      cancel_sent_ = true;
      // Slurm waits KillWait (30 s) between TERM and KILL.
      give_up_at_ = now + seconds(120);
      pause_ = settings_.first_look;
      next_look_ = now;
    }
    if (give_up_at_ && now >= *give_up_at_) over_ = true;
  }

  const RunOutline& plan_;
  Follower& follower_;
  System& system_;
  const SlurmSettings& settings_;
  JobIdentity job_;
  const std::string& id_;
  const RunDir run_;
  HoldNotice hold_;
  Clock::time_point next_journal_ = Clock::now();

  milliseconds pause_;
  Clock::time_point next_look_ = Clock::now();
  Clock::time_point last_answer_;
  bool silence_told_ = false;
  bool step_waited_ = false;  // at the last look
  bool running_ = false;
  int restarts_ = 0;
  std::string seen_state_;
  std::string nodes_;                                  // on which it ran when last seen running
  std::optional<Clock::time_point> completing_since_;  // of a run that has ended
  bool over_ = false;
  bool detached_ = false;
  int seen_ = 0;
  std::optional<Clock::time_point> cancel_at_;
  bool cancel_sent_ = false;
  std::string given_up_;
  std::optional<Clock::time_point> give_up_at_;
  std::vector<SlurmJob> end_;  // several for an array
  std::string tasks_told_;
  int most_tasks_ = 0;  // maximum seen: the first poll sees all tasks except ended ones
};

/// Keeps the intent until the job id is on disk. A running job wrote the id itself, and the file's
/// age is the run's.
Result<Ok> take_for_ours(const RunDir& run, const std::string& id, const SubmissionIntent& intent,
                         System& system) {
  const auto written = system.read_file(run.job_id());
  const bool runs = written && job_id_in(*written) == id;
  if (!runs) forget_summary(run);
  auto kept = runs ? Result<Ok>(Ok{}) : write_file(run.job_id(), id + "\n");
  remember_job(system, run, id, intent.token, intent.script);
  if (kept) kept = sync_folder(run.path);
  if (!kept) system.log("dllaunch: " + kept.error().what + "\n");
  if (kept) forget_intent(run);
  return kept;
}

/// Returns the user's comment, unchanged; empty: none.
std::string comment_of(const LaunchPlan& plan) {
  std::string comment;
  for (const auto& line : plan.sbatch_extra) {
    const auto option = option_of_line(line);
    if (option && option->first == "--comment") comment = option->second;
  }
  return comment;
}

/// Slurm does not say what it does not support.
Error why_no_components(Error error) {
  if (error.what.find("not supported on this system") == std::string::npos) return error;
  error.what = "this Slurm has no heterogeneous jobs, which components need: " + error.what;
  error.hint = "they need SchedulerType=sched/backfill; or write a job file for each component";
  return error;
}

/// Returns the job id, even if sbatch fails after submitting: another call would create a second
/// job of the run.
Result<std::string> submit_once(const LaunchPlan& plan, const RunDir& run, Follower& follower,
                                System& system, const SlurmSettings& settings) {
  // As it was judged when the run was planned: its script and its ranks say the same.
  const RunDir files{.path = plan.paths.files.empty() ? run.path : plan.paths.files};
  const auto before = system.read_file(run.job_id());
  const SubmissionIntent intent{.token = new_token(),
                                .script = files.sbatch_script(),
                                .judged = before ? job_id_in(*before).value_or("") : "",
                                .intended_s = unix_seconds()};
  if (auto kept = keep_intent(run, intent); !kept) return std::move(kept).error();
  auto [id, refused] =
      submit_job(system, intent.script, {comment_option(comment_of(plan), intent.token)});
  if (!id && refused) forget_intent(run);
  if (!id && !refused) {
    follower.say(
        fmt::format("dllaunch: {}: checking whether Slurm accepted the job", id.error().what));
    auto found = settle_intent(system, intent, settings.settle);
    if (!found) {
      return Error{ErrorKind::unavailable,
                   fmt::format("cannot tell whether the job was submitted: {}", found.error().what),
                   "run it again with the same --run-dir: it looks for the job first"};
    }
    if (*found) id = **found;
    if (!*found) forget_intent(run);
  }
  if (!id) return plan.components.empty() ? id : why_no_components(std::move(id).error());
  // The job exists, even if writing fails.
  const auto ignored = take_for_ours(run, *id, intent, system);
  return id;
}

}  // namespace

StopChoice ask_at_terminal() {
  // A signal counts from here on: it ends the wait also if it comes just before.
  sigset_t stops;
  sigset_t before;
  sigemptyset(&stops);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stops, signal);
  sigprocmask(SIG_BLOCK, &stops, &before);
  // Keys that were pressed before the question do not answer it.
  tcflush(STDIN_FILENO, TCIFLUSH);
  std::cerr << "\ndllaunch: [d]etach, [c]ancel the job, or [g]o on? " << std::flush;
  pollfd keyboard{STDIN_FILENO, POLLIN, 0};
  constexpr timespec limit{.tv_sec = 60, .tv_nsec = 0};
  const int ready = ppoll(&keyboard, 1, &limit, &before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (ready == 0) return StopChoice::go_on;
  std::array<char, 256> line{};
  const auto size = ready < 0 ? -1 : read(STDIN_FILENO, line.data(), line.size());
  // Another Ctrl-C, Ctrl-D or a closed terminal ends this command; only an answer cancels the job.
  if (size <= 0) return StopChoice::detach;
  std::string_view answer(line.data(), static_cast<std::size_t>(size));
  answer = answer.substr(0, answer.find('\n'));
  if (answer.empty()) return StopChoice::go_on;
  if (answer[0] == 'd' || answer[0] == 'D') return StopChoice::detach;
  if (answer[0] == 'c' || answer[0] == 'C') return StopChoice::cancel;
  if (answer[0] != 'g' && answer[0] != 'G')
    std::cerr << "dllaunch: '" << answer << "' is not d, c or g: the job goes on\n";
  return StopChoice::go_on;
}

Result<std::optional<std::string>> job_of_open_intent(const RunDir& run, System& system,
                                                      const SlurmSettings& settings) {
  const auto intent = open_intent(system, run);
  if (!intent) return std::optional<std::string>();
  auto found = settle_intent(system, *intent, settings.settle);
  if (!found) return std::move(found).error().within("was job of an earlier start submitted");
  if (!*found) forget_intent(run);
  if (!*found) return found;
  if (auto kept = take_for_ours(run, **found, *intent, system); !kept)
    return std::move(kept).error();
  return found;
}

Result<Outcome> execute_slurm(const LaunchPlan& plan, const RunDir& run, Follower& follower,
                              System& system, const SlurmSettings& settings) {
  auto id = submit_once(plan, run, follower, system, settings);
  if (!id) return std::move(id).error();
  follower.say(fmt::format("submitted job {}", *id));
  if (settings.detach) {
    Outcome outcome;
    outcome.detached = true;
    return outcome;
  }

  return attach_slurm(plan, run, identity_of(plan, run, *id), follower, system, settings);
}

Result<Outcome> attach_slurm(const RunOutline& plan, const RunDir& run, const JobIdentity& job,
                             Follower& follower, System& system, const SlurmSettings& settings) {
  const auto& id = job.id;
  const StopSignals signals;
  const auto began = Clock::now();
  JobWatch watch(plan, run, follower, system, settings, job);
  auto followed = watch.follow(signals);
  follower.finish();
  if (!followed) return std::move(followed).error();
  if (watch.detached()) {
    follower.say(fmt::format("job {} keeps running", id));
    return Outcome{.detached = true};
  }
  auto outcome = explain_jobs(plan, run, id, watch.end(), follower.totals());
  if (watch.cancelled() && outcome.status != RunStatus::completed) {
    const int signal = signals.latest();
    const std::string by = signal != 0 ? " by " + signal_name(signal) : "";
    outcome = {.status = RunStatus::cancelled,
               .exit_code = signal != 0 ? 128 + signal : exit_code::job_failed,
               .reason = fmt::format("job {} was cancelled{}", id, by),
               .tasks = std::move(outcome.tasks)};
    add_who_left(run, unix_seconds() - std::chrono::duration<double>(Clock::now() - began).count(),
                 outcome);
  }
  if (!watch.given_up().empty() && outcome.status == RunStatus::cancelled)
    outcome.reason = watch.given_up();
  const SlurmJob ended = watch.end().empty() ? SlurmJob{} : watch.end().front();
  // After a late attach only part of it was seen.
  const double seen_s = std::chrono::duration<double>(Clock::now() - began).count();
  add_times(ended, std::max(seen_s, seconds_between(ended.submit, ended.end).value_or(0)), outcome);
  return outcome;
}

}  // namespace dllaunch
