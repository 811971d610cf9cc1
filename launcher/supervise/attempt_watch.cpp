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
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/run/run_dir_files.hpp"
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
constexpr seconds kill_wait(30);   // as Slurm's KillWait, unless a site has set that
constexpr milliseconds brief(100);
constexpr milliseconds ranks_here_first(150);  // the step that kills the others takes longer
constexpr milliseconds kill_starter_after(3000);
constexpr seconds give_up_after(10);  // after KILL: a process may be stuck in a dead file system
constexpr seconds patience_for_files(3);
constexpr seconds patience_with_caches(60);  // of directories, on a network file system
constexpr seconds last_launch_words(1);      // of srun, on more tasks that it could not start
constexpr double first_silence_s = 600;      // of a command that says nothing of stalls
constexpr double most_of_limit = 0.25;       // of a stall, for reading stacks at its end
constexpr double last_look_s = 20;           // before the time limit
constexpr seconds patience_with_stacks(10);  // after the ranks' end
constexpr double least_left_s = 10;          // of the allocation: what follows the ranks needs it
constexpr seconds patience_of_slurm(5);      // for ranks that got TERM from Slurm itself
constexpr seconds node_query_limit(5);       // signals and timers wait for it
constexpr seconds longest_node_look_pause(80);

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
                           AttemptHooks hooks)
    : system_(system),
      run_(run),
      ownership_(ownership),
      signals_(signals),
      allocation_end_(allocation_end),
      hooks_(std::move(hooks)),
      grace_s_(run.recovery.grace_seconds),
      liveness_(run.dir, run.recovery.trains, run.recovery.plan.stall_abort_seconds, Clock::now(),
                ownership.fencing_token()),
      autopsy_(system, run),
      silence_to_look_s_(first_silence_s),
      request_(system, run, ownership.fencing_token()),
      files_before_(run.recovery.trains ? 0 : own_files(run.dir)),
      began_at_(Clock::now()),
      began_s_(unix_seconds()),
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
    if (hooks_.each_turn) hooks_.each_turn();
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
      look_at_nodes(now);
      look_at_stacks(now);
      request_.look(now, *starter);
      if (press(now, *starter)) code = 128 + SIGKILL;
    }
    if (!code) continue;
    starter->pass_on_output(/*ended=*/true);
    if (*code == 0) wait_for_proof();
    look_at_ownership(now + ownership_pause);
    wait_for_stacks(*starter);
    end_.code = *code;
    if (!end_.superseded) end_.output = starter->output();
    look_for_ranks(end_.output);
    end_.training_end = liveness_.training_end();
    if (liveness_.given_up()) end_.late = words_of_late_ranks(run_.dir, *liveness_.given_up());
    if (!end_.trains && request_.made()) end_.wrote_files = own_files(run_.dir) != files_before_;
    end_.save_signal = request_.made() && pressed_ == Pressed::not_yet ? run_.signal : 0;
    end_.seconds = std::chrono::duration<double>(now - began_at_).count();
    end_.silent_s = liveness_.silent_s(now);
    return end_;
  }
}

/// Waits for output, an exit or a signal, but not beyond the next check.
void AttemptWatch::wait(const StarterProcess& starter) const {
  std::array<pollfd, 2> sources = {{{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = starter.stderr_fd(), .events = POLLIN, .revents = 0}}};
  const bool busy = end_at_ || !end_.stall.empty() || !request_.ended();
  const milliseconds limit = busy ? brief : milliseconds(1000);
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

/// srun exits with 0 where it started no rank, or not all. Another node's records may become
/// visible here late: if Slurm said nothing, that is more likely.
void AttemptWatch::look_for_ranks(std::string_view output) {
  const auto refused = launch_failure_in(slurm_output(output));
  const bool proven = end_.code != 0 || liveness_.training_end() == "completed";
  if (end_.superseded || run_.start.shim.empty() || (proven && refused.empty())) return;
  const auto why = refused.empty() ? first_slurm_error(output) : refused;
  const auto until = Clock::now() + (why.empty() ? patience_with_caches : patience_for_files);
  const int planned = static_cast<int>(run_.nodes) * run_.ranks_per_node;
  pollfd signal = {.fd = signals_.fd(), .events = POLLIN, .revents = 0};
  while (true) {
    const auto start = ranks_of_start(run_.dir, ownership_.fencing_token(), began_s_);
    const auto missing = never_began(start, planned, output);
    if (missing.empty() && refused.empty()) return;
    const bool last = !refused.empty() || Clock::now() >= until;
    if (!last && poll_awake(&signal, 1, static_cast<int>(brief.count())) <= 0) continue;
    for (const int each : last ? std::vector<int>() : signals_.take())
      end_.told_to_end |= !is_warning(each, run_, allocation_end_);
    if (!last && !end_.told_to_end) continue;
    if (last) end_.unbegun = words_of_unbegun(missing, why);
    return;
  }
}

/// Ranks that gave up may have ended before their stacks were merged. Whatever else is to be done
/// comes first. Of a node that does not answer no stacks come, and the cause is known.
void AttemptWatch::wait_for_stacks(const StarterProcess& starter) {
  const auto until = Clock::now() + patience_with_stacks;
  pollfd signal = {.fd = signals_.fd(), .events = POLLIN, .revents = 0};
  while (liveness_.gave_up() && end_.lost_nodes.empty() && !end_.told_to_end &&
         !end_.time_is_short && !end_.superseded && Clock::now() < until &&
         autopsy_.runs(Clock::now())) {
    const auto left = allocation_end_.seconds_left();
    if (left && *left < least_left_s) return;
    poll_awake(&signal, 1, static_cast<int>(brief.count()));
    const auto came = signals_.take();
    for (const int each : came) hear(each, starter);
    if (!came.empty()) return;
    if (hooks_.each_turn) hooks_.each_turn();
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
    ask_ranks(starter, patience_with_handlers());
    return;
  }
  end_.told_to_end = true;
  ask_ranks(starter, seconds(0));
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

/// Asks the ranks once to save. Off for commands whose job file does not say that they know the
/// signal.
void AttemptWatch::ask_ranks(const StarterProcess& starter, seconds patience) {
  if (run_.recovery.asks_ranks) request_.make(Clock::now(), patience, starter);
}

/// Before the time limit; the other half is for saving.
seconds AttemptWatch::patience_with_handlers() const {
  return std::chrono::floor<seconds>(std::chrono::duration<double>(grace_s_ / 2));
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
    ask_ranks(starter, patience_with_handlers());
  }
  // A job that Slurm kills at the time limit is not requeued.
  const double reserve = std::min(15.0, grace_s_ / 3);
  const bool last_moment = *allocation_end_.seconds_left() <= reserve;
  if (end_.time_is_short && last_moment && (recovery.plan.requeue_on.timeout || rank_is_gone_))
    end_by(now);
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
  // Those that began wait for the others, and srun lets them.
  if (!launch_failure_in(words).empty()) end_by(now + last_launch_words);
  delay_ = delay_of_start(words);
  if (delay_.empty()) delayed_since_.reset();
  if (!delay_.empty() && !delayed_since_) delayed_since_ = now;
  const auto dead = dead_rank_from_srun(words);
  const bool killed = !lost_node_in(words).empty() || killed_rank_from_srun(words);
  if (!dead && !killed) return;
  rank_is_gone_ = true;
  if (dead && end_.dead_seen_s == 0) end_.dead_seen_s = unix_seconds();
  if (!end_.trains) return end_others(now);
  end_by(now + patience_with_survivors(
                   {.killed = killed,
                    .echo = dead && dead->signal == SIGPIPE,
                    .saves = saves_checkpoint(run_.dir.path, ownership_.fencing_token()),
                    .stalled = liveness_.stalled()}));
}

/// What srun itself does with --kill-on-bad-exit=1, when a rank of a command dies. But ranks that
/// were asked to save leave when they have, and others still do: these have the grace time.
void AttemptWatch::end_others(Time now) {
  const auto& options = run_.start.options;
  const bool srun_does = std::ranges::find(options, "--kill-on-bad-exit=0") == options.end();
  // Without `recovery:`, such an option is the user's.
  if (!run_.recovery.asks_ranks || srun_does || request_.made() || std::exchange(others_end_, true))
    return;
  kill_ranks_of_start(run_.dir.path, ownership_.fencing_token(), SIGTERM);
  if (auto step = kill_ranks_elsewhere(system_, run_, ownership_.fencing_token(), SIGTERM))
    killer_.emplace(*std::move(step));
  end_by(now + kill_wait);
}

void AttemptWatch::wait_for(const std::string& what) {
  if (std::exchange(waits_for_, what) != what && hooks_.waits) hooks_.waits(what);
}

/// Finds nodes that no longer answer before Slurm does, which takes SlurmdTimeout, 300 s by
/// default: when a training makes no progress, or when Slurm does not start the ranks. A network
/// that is away for a moment is no reason to end them, nor is a node without a daemon on which
/// ranks go on.
void AttemptWatch::look_at_nodes(Time now) {
  if (run_.allocation.job.empty() || !run_.start.starts_by_srun() || end_at_) return;
  const bool delayed = delayed_since_ && now - *delayed_since_ >= hooks_.patience.start;
  const bool silent = liveness_.training_end() != "completed" &&
                      (liveness_.stalled() || liveness_.unusually_silent(now));
  if (!delayed && !silent) {
    node_look_pause_ = hooks_.patience.look;
    next_node_look_ = now;
    silent_since_.reset();
    look_for_daemons(now);
    return wait_for("");
  }
  if (now < next_node_look_) return;
  auto found = nodes_out_of_order(system_, run_.allocation, node_query_limit, daemons_);
  // A busy controller says nothing of the nodes, neither good nor bad.
  const bool answered = found.has_value();
  auto nodes = answered ? std::move(found->names) : silent_nodes_;
  if (nodes.empty() || nodes != silent_nodes_) silent_since_.reset();
  if (!nodes.empty() && !silent_since_) silent_since_ = now;
  silent_nodes_ = std::move(nodes);
  // As long as all answer, the controller is asked less and less often.
  if (answered && silent_nodes_.empty())
    node_look_pause_ = std::min<milliseconds>(2 * node_look_pause_, longest_node_look_pause);
  next_node_look_ = Clock::now() + (silent_since_ ? hooks_.patience.look : node_look_pause_);
  if (delayed) return look_at_start(now, answered);
  if (!silent_since_) return wait_for("");
  wait_for(fmt::format("node {} does not answer, and the ranks make no progress", silent_nodes_));
  // Ranks that validate or load are silent too, and go on while their slurmd is restarted.
  const bool restarts = answered && found->refuse && !liveness_.stalled();
  const auto patience = restarts ? hooks_.patience.daemon : hooks_.patience.node;
  if (!answered || now - *silent_since_ < patience) return;
  end_.lost_nodes = silent_nodes_;
  rank_is_gone_ = true;
  end_by(now);
}

/// While all is well: a controller that misses a node may be slow to answer.
void AttemptWatch::look_for_daemons(Time now) {
  constexpr seconds limit(2);
  constexpr seconds pause(60);
  if (!daemons_.empty() || now < next_daemon_look_) return;
  daemons_ = daemons_of(system_, run_.allocation, limit);
  next_daemon_look_ = now + pause;
}

/// The step of an earlier start holds its CPUs until its last node has answered, and a new one
/// waits for them, without end.
void AttemptWatch::look_at_start(Time now, bool answered) {
  if (silent_since_) {
    wait_for(fmt::format("Slurm does not start the ranks ({}); node {} does not answer", delay_,
                         silent_nodes_));
    if (!answered || now - *silent_since_ < hooks_.patience.node) return;
    end_.not_started = silent_nodes_;
  } else {
    const auto waited = std::chrono::duration_cast<seconds>(now - *delayed_since_);
    wait_for(
        fmt::format("Slurm does not start the ranks: {}; its nodes answer, and the job's other "
                    "steps may use them: squeue --steps --job={}",
                    delay_, run_.allocation.job));
    if (!run_.again || waited < hooks_.patience.busy_nodes) return;
    end_.not_started = fmt::format(
        "the ranks cannot be started: Slurm has delayed them for {} s: {}", waited.count(), delay_);
  }
  end_by(now);
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
    // srun would wait for a node that is gone.
    end_at_ = now + (end_.lost_nodes.empty() ? kill_starter_after : milliseconds(0));
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
