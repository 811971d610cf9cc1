#include "launcher/supervise/attempt_watch.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>
#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/job/recovery.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/supervise/lone_ranks.hpp"
#include "launcher/supervise/orphan_ranks.hpp"
#include "launcher/supervise/rank_states.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds ownership_pause(1);
constexpr double early_s = 60;     // Slurm may signal this much early
constexpr seconds deaf(20);        // the ranks may not have installed their handlers yet
constexpr seconds kill_after(10);  // after TERM, on which srun ends the step
constexpr milliseconds brief(100);
constexpr milliseconds ranks_here_first(150);  // the step that kills the others takes longer
constexpr milliseconds kill_starter_after(3000);
constexpr seconds give_up_after(10);  // after KILL: a process may be stuck in a dead file system
constexpr seconds patience_for_files(3);
constexpr double first_silence_s = 600;      // of a command that says nothing of stalls
constexpr double most_of_limit = 0.25;       // of a stall, for reading stacks at its end
constexpr double last_look_s = 20;           // before the time limit
constexpr seconds patience_with_stacks(10);  // after the ranks' end
constexpr double least_left_s = 10;          // of the allocation: what follows the ranks needs it
constexpr seconds patience_of_slurm(5);      // for ranks that got TERM from Slurm itself

AttemptWatch::Time after(AttemptWatch::Time from, double more_s) {
  return from + std::chrono::duration_cast<AttemptWatch::Time::duration>(
                    std::chrono::duration<double>(more_s));
}

double seconds_until(AttemptWatch::Time when, AttemptWatch::Time now) {
  return std::chrono::duration<double>(when - now).count();
}

}  // namespace

AllocationEnd::AllocationEnd(const JobAllocation& allocation, double unix_now_s) {
  // This process runs, so the allocation has not ended.
  if (!allocation.end_s || *allocation.end_s <= unix_now_s) return;
  known_s_ = allocation.end_s;
  at_ = after(std::chrono::steady_clock::now(), *allocation.end_s - unix_now_s);
}

std::optional<double> AllocationEnd::seconds_left() const {
  if (!at_) return std::nullopt;
  return seconds_until(*at_, std::chrono::steady_clock::now());
}

void AllocationEnd::ask_again(System& system, const JobAllocation& allocation) {
  if (!known_s_) return;
  const auto record = ask_of_job(system, allocation, seconds(5));
  const auto end_s = record ? end_of(*record) : std::nullopt;
  if (!end_s) return;
  at_ = after(*at_, *end_s - *known_s_);
  known_s_ = end_s;
}

bool is_warning(int signal, const SupervisedRun& run, const AllocationEnd& end) {
  if (signal != run.signal) return false;
  const bool may_mean_stop = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
  if (!may_mean_stop) return true;
  const auto left = end.seconds_left();
  return left && *left <= run.recovery.grace_seconds + early_s;
}

AttemptWatch::AttemptWatch(System& system, const SupervisedRun& run, const RunOwnership& ownership,
                           const SupervisorSignals& signals, AllocationEnd& allocation_end,
                           std::function<void()> each_turn)
    : system_(system),
      run_(run),
      ownership_(ownership),
      signals_(signals),
      allocation_end_(allocation_end),
      each_turn_(std::move(each_turn)),
      grace_s_(run.recovery.grace_seconds),
      liveness_(run.dir, run.recovery.trains, run.recovery.plan.stall_abort_seconds, Clock::now(),
                ownership.fencing_token()),
      autopsy_(system, run),
      silence_to_look_s_(first_silence_s),
      began_at_(Clock::now()),
      ownership_seen_at_(began_at_) {
  end_.trains = run.recovery.trains;
  // Time left is spent on training.
  const auto left = allocation_end_.seconds_left();
  if (left && *left <= grace_s_) grace_s_ = *left / 2;
}

AttemptWatch::Variables AttemptWatch::variables() const {
  Variables all = {{fencing_token_variable, std::to_string(ownership_.fencing_token())}};
  if (!run_.recovery.trains) all.emplace_back(heartbeat_variable, heartbeat_file(run_.dir));
  for (const auto* more : {&run_.retry_variables, &run_.variables})
    all.insert(all.end(), more->begin(), more->end());
  return all;
}

Result<StarterExit> AttemptWatch::run() {
  auto starter = StarterProcess::start(run_.program, run_.start.argv(), variables());
  if (!starter) return std::move(starter).error();
  while (true) {
    wait(*starter);
    if (each_turn_) each_turn_();
    starter->pass_on_output();
    auto code = starter->poll();
    for (const int signal : signals_.take()) hear(signal, *starter);
    const auto now = Clock::now();
    look_at_pause(now);
    liveness_.look(now);
    look_at_output(now, *starter);
    if (!code) {
      look_at_ownership(now);
      look_at_clock(now, *starter);
      look_at_liveness(now);
      look_at_stacks(now);
      if (press(now, *starter)) code = 128 + SIGKILL;
    }
    if (!code) continue;
    starter->pass_on_output(/*ended=*/true);
    if (*code == 0) wait_for_proof();
    look_at_ownership(now + ownership_pause);
    wait_for_stacks(*starter);
    end_.code = *code;
    if (!end_.superseded) end_.output = starter->output();
    end_.training_end = liveness_.training_end();
    end_.seconds = std::chrono::duration<double>(now - began_at_).count();
    end_.silent_s = liveness_.silent_s(now);
    return end_;
  }
}

/// Waits for output, an exit or a signal, but not beyond the next check.
void AttemptWatch::wait(const StarterProcess& starter) const {
  std::array<pollfd, 2> sources = {{{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = starter.stderr_fd(), .events = POLLIN, .revents = 0}}};
  const milliseconds limit = end_at_ || !end_.stall.empty() ? brief : milliseconds(1000);
  poll_awake(sources.data(), sources.size(), static_cast<int>(limit.count()));
}

/// Waits for another node's last events to become visible here.
void AttemptWatch::wait_for_proof() {
  const auto until = Clock::now() + patience_for_files;
  while (end_.trains && liveness_.training_end().empty() && Clock::now() < until) {
    std::this_thread::sleep_for(brief);
    liveness_.look(Clock::now());
  }
}

/// Ranks that gave up may have ended before their stacks were merged. Whatever else is to be done
/// comes first.
void AttemptWatch::wait_for_stacks(const StarterProcess& starter) {
  const auto until = Clock::now() + patience_with_stacks;
  pollfd signal = {.fd = signals_.fd(), .events = POLLIN, .revents = 0};
  while (liveness_.gave_up() && !end_.told_to_end && !end_.time_is_short && !end_.superseded &&
         Clock::now() < until && autopsy_.runs(Clock::now())) {
    const auto left = allocation_end_.seconds_left();
    if (left && *left < least_left_s) return;
    poll_awake(&signal, 1, static_cast<int>(brief.count()));
    const auto came = signals_.take();
    for (const int each : came) hear(each, starter);
    if (!came.empty()) return;
    if (each_turn_) each_turn_();
    look_at_ownership(Clock::now());
  }
}

void AttemptWatch::hear(int signal, const StarterProcess& starter) {
  const bool saves = run_.recovery.asks_ranks;
  if (is_warning(signal, run_, allocation_end_)) {
    warned_ = true;
    if (saves && is_early()) return;
    // Without a request to save, the exit code is the command's own.
    end_.time_is_short = saves;
    ask_ranks(starter);
    return;
  }
  end_.told_to_end = true;
  ask_ranks(starter);
  // Slurm has told the ranks, but the owner of components only the supervisors, some twice; srun
  // would kill the ranks at a TERM of ours.
  const bool of_owner = signal == SIGINT && !run_.allocation.group.empty();
  if (!saves && of_owner && !std::exchange(passed_on_, true)) {
    if (auto told = signal_steps(system_, run_.allocation.job, "TERM"); !told)
      system_.log(fmt::format("dllaunch: {}\n", told.error().what));
  }
  end_by(Clock::now() + (saves ? seconds(run_.recovery.grace_seconds) : patience_of_slurm));
}

/// Whether it is too early to signal: ranks that have just started may not have a handler, and
/// Slurm's warning leaves enough time.
bool AttemptWatch::is_early() const {
  const auto left = allocation_end_.seconds_left();
  return Clock::now() - began_at_ < deaf && left && *left > grace_s_ && *left <= grace_s_ + early_s;
}

/// Asks the ranks once to save. Off for commands that may not handle the signal: its default action
/// is to terminate.
void AttemptWatch::ask_ranks(const StarterProcess& starter) {
  if (asked_ || !run_.recovery.asks_ranks) return;
  asked_ = true;
  starter.send(run_.signal);
}

/// Slurm has moved the end of a suspended job; that of a process that was stopped otherwise stays.
void AttemptWatch::look_at_pause(Time now) {
  const auto paused = Clock::paused();
  const auto pause = paused - std::exchange(paused_, paused);
  if (pause == Clock::duration::zero()) return;
  system_.log(fmt::format(
      "dllaunch: did not run for {:.0f} s (suspended or stopped); no limit counts this time\n",
      std::chrono::duration<double>(pause).count()));
  liveness_.resume(now, pause);
  allocation_end_.ask_again(system_, run_.allocation);
}

void AttemptWatch::look_at_ownership(Time now) {
  if (end_.superseded || now - ownership_seen_at_ < ownership_pause) return;
  ownership_seen_at_ = now;
  const auto ours = ownership_.check();
  if (ours || ours.error().kind != ErrorKind::unsatisfiable) return;
  end_.superseded = true;
  end_.output = ours.error().what;
  end_by(now);
}

/// Covers a warning of Slurm that came when the ranks had just started, or was removed from the
/// script.
void AttemptWatch::look_at_clock(Time now, const StarterProcess& starter) {
  const auto& recovery = run_.recovery;
  if (!allocation_end_.at() || !recovery.asks_ranks) return;
  const bool warned = warned_ && now - began_at_ >= deaf;
  if (!end_.time_is_short && (warned || *allocation_end_.seconds_left() <= grace_s_)) {
    if (!warned) allocation_end_.ask_again(system_, run_.allocation);
    if (!warned && *allocation_end_.seconds_left() > grace_s_) return;
    end_.time_is_short = true;
    ask_ranks(starter);
  }
  // A job that Slurm kills at the time limit is not requeued.
  const double reserve = std::min(15.0, grace_s_ / 3);
  const bool last_moment = *allocation_end_.seconds_left() <= reserve;
  if (end_.time_is_short && last_moment && recovery.plan.requeue_on.timeout) end_by(now);
}

void AttemptWatch::look_at_liveness(Time now) {
  if (end_at_ || !end_.stall.empty()) return;
  end_.stall = liveness_.wedged(now);
  if (end_.stall.empty()) return;
  system_.log(fmt::format("dllaunch: {}: ending the ranks\n", end_.stall));
  system_.log(states_of_ranks(system_, run_.dir, run_.allocation));
}

/// The ranks of a training end a stall by themselves: their stacks are read shortly before.
void AttemptWatch::look_before_ranks_give_up(Time now) {
  const auto at = liveness_.gives_up_at();
  if (!at) {
    if (std::exchange(stall_look_, false)) autopsy_.forget_one();
    return;
  }
  const double limit_s = run_.recovery.plan.stall_abort_seconds;
  const double left_s = seconds_until(*at, now);
  const double needed_s = static_cast<double>(autopsy_.longest().count());
  if (stall_look_ || left_s > std::min(needed_s, limit_s * most_of_limit)) return;
  stall_look_ = true;
  const double waited_s = std::max(0.0, limit_s - left_s);
  if (liveness_.stalled()) {
    autopsy_.begin(StacksKind::stall, fmt::format("stalled for {:.0f} s", waited_s), now);
  } else {
    autopsy_.begin(StacksKind::start, fmt::format("has not begun to train for {:.0f} s", waited_s),
                   now);
  }
}

/// Reads the ranks' stacks before stalled ranks are ended, before the time limit ends them, and
/// when a command has written nothing for long, which alone is no reason to end it.
void AttemptWatch::look_at_stacks(Time now) {
  bool reads = autopsy_.runs(now);
  if (!end_.stall.empty() && !reads && !end_at_) {
    // Only now: stacks may have been read for another reason, and one reading runs at a time.
    if (!std::exchange(hang_look_, true))
      autopsy_.begin(StacksKind::hang, end_.stall, Clock::now());
    reads = autopsy_.runs(now);
    if (!reads) end_by(now);
  }
  if (end_at_ || reads) return;
  const auto left = allocation_end_.seconds_left();
  if (!last_look_ && left && *left <= last_look_s) {
    last_look_ = true;
    autopsy_.begin(StacksKind::time_limit, "the time limit is near", now);
  }
  if (run_.recovery.trains) return look_before_ranks_give_up(now);
  if (now < next_silence_look_) return;
  next_silence_look_ = now + seconds(60);
  const double silent_s = liveness_.silent_s(now);
  if (silent_s < first_silence_s) silence_to_look_s_ = first_silence_s;
  if (silent_s < silence_to_look_s_) return;
  silence_to_look_s_ *= 2;
  autopsy_.begin(StacksKind::silence, fmt::format("no output for {:.0f} s", silent_s), now);
}

/// Ends a training whose rank or node is gone: the other ranks can no longer end a step. Slurm
/// sends them TERM at once, after which srun forwards no TERM of ours, and KILL after KillWait, 30
/// s by default. A rank that waits for the dead one in a collective only remembers TERM.
void AttemptWatch::look_at_output(Time now, const StarterProcess& starter) {
  const auto size = starter.output().size();
  if (pressed_ != Pressed::not_yet || std::exchange(output_seen_, size) == size) return;
  const auto words = slurm_output(starter.output());
  const auto dead = dead_rank_from_srun(words);
  const bool killed = !lost_node_in(words).empty() || killed_rank_from_srun(words);
  if (!dead && !killed) return;
  rank_is_gone_ = true;
  if (dead && end_.dead_seen_s == 0) end_.dead_seen_s = unix_seconds();
  if (!end_.trains) return;
  end_by(now + patience_with_survivors(
                   {.killed = killed,
                    .echo = dead && dead->signal == SIGPIPE,
                    .saves = saves_checkpoint(run_.dir.path, ownership_.fencing_token()),
                    .stalled = liveness_.stalled()}));
}

void AttemptWatch::end_by(Time when) {
  if (!end_at_ || when < *end_at_) end_at_ = when;
}

/// Whether the ranks that are left wait for a dead one. If another start owns the run by now, they
/// do not: it is the one that ended them.
bool AttemptWatch::survivors_only() const {
  return end_.trains && rank_is_gone_ && !end_.superseded;
}

/// Returns true if the starter survives even KILL.
bool AttemptWatch::press(Time now, const StarterProcess& starter) {
  if (!end_at_ || now < *end_at_) return false;
  const bool first = pressed_ == Pressed::not_yet;
  const bool alone = survivors_only();
  if (first) steps_ = steps_of_run(run_.dir, run_.allocation);
  if (first && !alone) {
    starter.send(SIGTERM);
    pressed_ = Pressed::term;
    end_at_ = now + kill_after;
  } else if (first || (pressed_ == Pressed::term && run_.start.starts_by_srun())) {
    // With its ranks gone, the starter ends by itself.
    if (alone) end_.before_kill = starter.output();
    kill_ranks_of_start(run_.dir.path, ownership_.fencing_token());
    pressed_ = Pressed::kill_here;
    end_at_ = now + ranks_here_first;
  } else if (pressed_ == Pressed::kill_here) {
    if (auto step = kill_ranks_elsewhere(system_, run_, ownership_.fencing_token()))
      killer_.emplace(*std::move(step));
    pressed_ = Pressed::kill_elsewhere;
    end_at_ = Clock::now() + (killer_ ? milliseconds(0) : kill_starter_after);
  } else if (pressed_ == Pressed::kill_elsewhere && killer_) {
    end_at_ = now + ranks_here_first;  // a busy Slurm starts it late; its own limit ends it
    const auto code = killer_->poll();
    if (!code) return false;
    if (*code != 0)
      system_.log(
          fmt::format("dllaunch: the step that kills ranks on other nodes "
                      "exited with code {}\n",
                      *code));
    killer_.reset();
    end_at_ = now + kill_starter_after;
  } else if (pressed_ != Pressed::kill_all) {
    starter.kill_group();
    // Steps that srun failed to end would outlive it.
    end_steps(system_, steps_);
    pressed_ = Pressed::kill_all;
    end_at_ = now + give_up_after;
  } else {
    return true;
  }
  return false;
}

}  // namespace dllaunch
