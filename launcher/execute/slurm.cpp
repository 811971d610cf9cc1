#include "launcher/execute/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "launcher/execute/slurm_outcome.hpp"
#include "launcher/execute/stop_signals.hpp"
#include "launcher/failure.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// One job from its submission to its end.
class JobWatch {
 public:
  JobWatch(const LaunchPlan& plan, Follower& follower, World& world, const SlurmSettings& settings,
           std::string id)
      : plan_(plan),
        follower_(follower),
        world_(world),
        settings_(settings),
        id_(std::move(id)),
        pause_(settings.first_look),
        last_answer_(Clock::now()) {}

  /// Returns when the job is over, let go, or lost.
  Result<Ok> follow(const StopSignals& signals) {
    while (true) {
      const bool due = Clock::now() >= next_look_;
      if (due) {
        auto looked = look();
        if (!looked) return looked;
      }
      if (over_ || detached_) return Ok{};
      follower_.poll();
      if (signals.count() > seen_) {
        seen_ = signals.count();
        stop(signals.first());
      }
      press_cancel();
      signals.wait(milliseconds(100));
    }
  }

  bool detached() const { return detached_; }
  bool cancelled() const { return cancel_at_.has_value() || cancel_sent_; }
  const std::optional<SlurmJob>& end() const { return end_; }

 private:
  Result<Ok> look() {
    auto queued = queued_job(world_, id_);
    const auto now = Clock::now();
    pause_ = std::min(settings_.longest_look, pause_ + pause_ / 2);
    next_look_ = now + (follower_.ledger().ended() ? settings_.first_look : pause_);
    if (!queued) return controller_silent(queued.error());
    last_answer_ = now;
    if (silence_told_) follower_.say("dllaunch: Slurm answers again");
    silence_told_ = false;
    if (*queued && !is_final_state((*queued)->state)) {
      show(**queued);
      return Ok{};
    }
    end_ = finished_job(world_, id_);
    // Gone from the queue but, to scontrol, still completing: the next look will tell.
    over_ = !end_ || is_final_state(end_->state);
    return Ok{};
  }

  Result<Ok> controller_silent(const Error& why) {
    if (!silence_told_) {
      follower_.say(
          fmt::format("dllaunch: Slurm does not answer ({}); the job goes on, so do we", why.what));
    }
    silence_told_ = true;
    const auto silence = Clock::now() - last_answer_;
    // The run's own word is enough when Slurm has nothing to say.
    if (follower_.ledger().ended() && silence > seconds(60)) over_ = true;
    if (silence < settings_.controller_patience) return Ok{};
    return Error{
        ErrorKind::unavailable,
        fmt::format("Slurm has been silent for {} minutes; job {} may go on without us",
                    std::chrono::duration_cast<std::chrono::minutes>(silence).count(), id_),
        "squeue --me"};
  }

  void show(const QueuedJob& job) {
    const bool waits = is_waiting_state(job.state);
    if (waits && running_) follower_.say(fmt::format("job {}: back in the queue", id_));
    if (!waits && !running_) {
      follower_.waiting("");
      follower_.say(fmt::format("job {}: running on {}", id_, job.nodes));
      pause_ = settings_.first_look;
    }
    running_ = !waits;
    if (!waits) return;
    std::string text = fmt::format("job {}: {}", id_, explain_reason(job.reason));
    if (!job.start.empty()) text += ", expected to start " + job.start;
    follower_.waiting(text);
  }

  void stop(int signal) {
    // A terminal that went away wants nothing of the job.
    if (signal == SIGHUP) {
      detached_ = true;
      return;
    }
    if (cancelled()) {
      cancel_at_ = Clock::now();  // once more: now
      return;
    }
    const auto choice = settings_.ask ? settings_.ask() : StopChoice::cancel;
    if (choice == StopChoice::detach) detached_ = true;
    if (choice == StopChoice::cancel) begin_cancel();
  }

  void begin_cancel() {
    cancel_at_ = Clock::now();
    if (!running_ || !settings_.trains) return;
    auto asked = signal_steps(world_, id_, plan_.signal);
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
      auto done = cancel_job(world_, id_);
      if (!done) follower_.say("dllaunch: " + done.error().what);
      cancel_sent_ = true;
      // Slurm itself gives the processes KillWait (30 s) between TERM and KILL.
      give_up_at_ = now + seconds(120);
      pause_ = settings_.first_look;
      next_look_ = now;
    }
    if (give_up_at_ && now >= *give_up_at_) over_ = true;
  }

  const LaunchPlan& plan_;
  Follower& follower_;
  World& world_;
  const SlurmSettings& settings_;
  std::string id_;

  milliseconds pause_;
  Clock::time_point next_look_ = Clock::now();
  Clock::time_point last_answer_;
  bool silence_told_ = false;
  bool running_ = false;
  bool over_ = false;
  bool detached_ = false;
  int seen_ = 0;
  std::optional<Clock::time_point> cancel_at_;
  bool cancel_sent_ = false;
  std::optional<Clock::time_point> give_up_at_;
  std::optional<SlurmJob> end_;
};

}  // namespace

Result<Ok> check_no_job(const RunDir& run, World& world) {
  auto text = world.read_file(run.job_id());
  if (!text) return Ok{};  // none was submitted
  const auto id = job_id_in(*text);
  if (!id) return Ok{};
  auto queued = queued_job(world, *id);
  if (!queued)
    return std::move(queued).error().within("is job " + *id + " of this run still there");
  if (!*queued || is_final_state((*queued)->state)) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("job {} of this run is still {}", *id, (*queued)->state),
               fmt::format("wait for it, scancel {}, or choose another --run-dir", *id)};
}

Result<Outcome> execute_slurm(const LaunchPlan& plan, const RunDir& run, Follower& follower,
                              World& world, const SlurmSettings& settings) {
  const StopSignals signals;
  const auto began = Clock::now();
  auto id = submit_job(world, run.sbatch_script());
  if (!id) return std::move(id).error();
  forget_summary(run);
  auto kept = write_file(run.job_id(), *id + "\n");
  if (!kept) follower.say("dllaunch: " + kept.error().what);
  follower.say(fmt::format("submitted job {}", *id));
  if (settings.detach) {
    Outcome outcome;
    outcome.detached = true;
    return outcome;
  }

  JobWatch watch(plan, follower, world, settings, *id);
  auto followed = watch.follow(signals);
  follower.finish();
  if (!followed) return std::move(followed).error();
  Outcome outcome;
  if (watch.detached()) {
    follower.say(fmt::format("job {} goes on", *id));
    outcome.detached = true;
    return outcome;
  }
  SlurmJob job = watch.end().value_or(SlurmJob{});
  job.id = *id;
  constexpr std::size_t most_log_bytes = 262144;
  outcome = explain_slurm(plan, run, job, follower.ledger(),
                          file_end(slurm_log(plan, job), most_log_bytes));
  if (watch.cancelled() && outcome.status != RunStatus::completed) {
    outcome = {
        .status = RunStatus::cancelled,
        .exit_code = 128 + signals.first(),
        .reason = fmt::format("job {} was cancelled by {}", *id, signal_name(signals.first()))};
  }
  add_times(job, std::chrono::duration<double>(Clock::now() - began).count(), outcome);
  return outcome;
}

}  // namespace dllaunch
