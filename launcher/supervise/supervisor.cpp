#include "launcher/supervise/supervisor.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/nodes/node_witness.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/storage_patience.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/first_error.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/run_ownership.hpp"
#include "launcher/slurm/requeue.hpp"
#include "launcher/supervise/corruption.hpp"
#include "launcher/supervise/decision_record.hpp"
#include "launcher/supervise/hold/hold.hpp"
#include "launcher/supervise/hold/retry_order.hpp"
#include "launcher/supervise/incarnations.hpp"
#include "launcher/supervise/node_numbering.hpp"
#include "launcher/supervise/orphan_ranks.hpp"
#include "launcher/supervise/own_job.hpp"
#include "launcher/supervise/start_nodes.hpp"
#include "launcher/supervise/storage.hpp"
#include "launcher/supervise/supervisor_parent.hpp"
#include "launcher/supervise/watchdog_step.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

class Supervisor {
 public:
  Supervisor(System& system, const SupervisedRun& run)
      : system_(system),
        run_(run),
        signals_(run.signal),
        storage_(run.dir, run.guarded),
        allocation_end_(run.allocation, unix_seconds()),
        watchdog_step_(system, run),
        numberer_(system, run),
        witness_(system, run.dir, run.allocation.job, run.node_book) {}

  int run() {
    adopt_orphans();
    if (!keep_trying([this] { return is_readable(run_.dir); })) {
      const auto what =
          "cannot read supervisor.jsonl, finished.job and .run-id in " + run_.dir.path;
      return interrupted_by_ ? end_by(*interrupted_by_)
                             : cannot_start({ErrorKind::unavailable, what, ""}).exit_code;
    }
    if (const auto ours = storage_.check(); !ours) return cannot_start(ours.error()).exit_code;
    if (has_finished(system_, run_)) return exit_code::success;
    const auto journal = read_journal(run_.dir);
    history_ = journal.history;
    last_written_s_ = journal.last_time;
    put_back_for_nodes_ = journal.put_back_for_nodes;
    numberer_.remember(journal);
    before_retry_ = journal.before_retry;
    corruptions_ = journal.corruptions;
    if (const auto stop = settle_the_past(journal)) return *stop;
    while (true) {
      const auto decision = attempt();
      if (decision.next == Next::requeue) return requeue(decision);
      if (decision.next == Next::hold) {
        if (const auto ended = hold(decision)) return *ended;
        continue;
      }
      if (decision.next == Next::stop) return decision.exit_code;
      if (const auto ended = pause(decision.backoff)) return *ended;
    }
  }

 private:
  /// Handles what a killed supervisor left: an attempt without end, or a decision to carry out.
  std::optional<int> settle_the_past(const Journal& journal) {
    if (history_.size() <= before_retry_) return std::nullopt;
    auto& last = history_.back();
    if (last.job != run_.job()) return std::nullopt;
    const bool same_allocation = last.allocation == run_.allocation.restarts;
    if (!run_.allocation.job.empty()) {
      if (last.cause == Cause::completed) return finish();
      if (same_allocation && last.cause != Cause::cut_short) return carry_out(journal);
    }
    if (last.cause == Cause::cut_short && last.detail.empty()) {
      last.new_checkpoint = checkpoint_name() != last.checkpoint;
      // The watcher knows more (script_watch.hpp).
      const bool watched = journal.decided && journal.last->next == Next::requeue;
      if (!same_allocation) {
        last.detail =
            watched ? journal.last->reason : "ended by Slurm, or with its node, without a message";
        append(line_of(last, unix_seconds()));  // `status` reads it there
        if (!watched) witness_.vanished();
      }
    }
    const auto stop = decide_at_start(this_try(), run_.recovery, same_allocation);
    if (!stop) return std::nullopt;
    write(*stop);
    return stop->exit_code;
  }

  /// Carries out the decision of, or due in, this allocation. nullopt: start the ranks again.
  std::optional<int> carry_out(const Journal& journal) {
    Decision decision;
    if (journal.decided) {
      decision = decision_of(*journal.last, run_);
    } else {
      decision = decide(this_try(), run_.recovery, allocation_end_.seconds_left());
      write(decision);
    }
    // The hold ended with the supervisor that was killed.
    if (decision.next == Next::hold) return stop_after_hold(decision);
    if (decision.next == Next::restart) return std::nullopt;
    return decision.next == Next::requeue ? requeue(decision) : decision.exit_code;
  }

  /// A retry is a new try by the user, as a new job is.
  std::vector<Attempt> this_try() const {
    return {history_.begin() + static_cast<std::ptrdiff_t>(before_retry_), history_.end()};
  }

  /// Keeps the allocation for `dllaunch retry`. Returns the exit code if the hold ends otherwise.
  std::optional<int> hold(const Decision& decision) {
    const auto until = Clock::now() + decision.hold;
    const auto end = hold_until(until);
    if (!end.lost.empty()) return give_way(end.lost).exit_code;
    if (end.signal && cause_of_signal(*end.signal) == Cause::cancelled) return end_by(*end.signal);
    if (!end.order || end.order->over) return stop_after_hold(decision, unusable_);
    return retry_by(*end.order, decision, until);
  }

  /// Where the run's directory was moved, or is away, waits as for ranks that failed by that.
  HoldEnd hold_until(Clock::time_point until) {
    while (true) {
      auto end = hold_for_retry(run_.dir, storage_, *ownership_, until, [this](milliseconds pause) {
        watchdog_step_.keep(Clock::now());
        return wait(pause);
      });
      if (!end.away || end.signal) return end;
      wait_for_storage(until);
      if (interrupted_by_) return {.signal = std::exchange(interrupted_by_, std::nullopt)};
      if (!unusable_.empty()) return end;
    }
  }

  /// A disk that is full for a moment must not cost the allocation; what does not pass ends
  /// the hold at once.
  std::optional<int> retry_by(const RetryOrder& order, const Decision& decision,
                              Clock::time_point until) {
    const auto token = ownership_->fencing_token();
    const auto carry_out = [&] {
      return storage_.write([&] { return take_up(order, token, run_); });
    };
    auto retry = carry_out();
    while (!retry) {
      const auto failed = "the retry failed: " + retry.error().what;
      std::optional<int> came;
      if (!storage_.check()) {
        wait_for_storage(until);
        came = std::exchange(interrupted_by_, std::nullopt);
        if (!came && !unusable_.empty()) return stop_after_hold(decision, unusable_);
      } else if (tells_of_storage(failed) && Clock::now() < until) {
        write_wait(retry.error().what);
        watchdog_step_.keep(Clock::now());
        came = wait(milliseconds(1000));
      } else {
        return stop_after_hold(decision, failed);
      }
      if (came)
        return cause_of_signal(*came) == Cause::cancelled ? end_by(*came)
                                                          : stop_after_hold(decision, failed);
      if (const auto lost = ownership_lost(*ownership_); !lost.empty())
        return give_way(lost).exit_code;
      retry = carry_out();
    }
    waits_for_.clear();
    append(line_of(*retry));
    system_.log(fmt::format("dllaunch: {}\n", words_of(*retry)));
    before_retry_ = history_.size();
    return std::nullopt;
  }

  /// `why`: what ended it before its time; empty: nothing did.
  int stop_after_hold(Decision decision, const std::string& why = "") {
    decision.next = Next::stop;
    decision.reason += why.empty() ? "; the allocation was held, and nobody retried" : "; " + why;
    write(decision);
    return decision.exit_code;
  }

  /// Prevents further starts of the run, however often Slurm starts the job.
  int finish() const {
    if (run_.allocation.job.empty()) return exit_code::success;
    if (auto done = storage_.write([this] { return mark_finished(run_.dir, run_.job()); }); !done)
      system_.log("dllaunch: " + done.error().what + "\n");
    return exit_code::success;
  }

  /// Returns the newest checkpoint; empty: none.
  std::string checkpoint_name() const {
    return std::filesystem::path(newest_checkpoint(run_.dir)).filename().string();
  }

  /// Near the end of the allocation, asks Slurm for it again.
  std::optional<double> seconds_left() {
    constexpr double near_s = 600;
    const auto left = allocation_end_.seconds_left();
    if (!left || *left > near_s) return left;
    allocation_end_.ask_again(system_, run_.allocation);
    return allocation_end_.seconds_left();
  }

  /// A file system that is briefly away must not end a run of days. A signal ends that.
  template <typename Try>
  auto keep_trying(Try attempt_once) -> decltype(attempt_once()) {
    return patiently(attempt_once, [this](milliseconds pause) {
      interrupted_by_ = wait(pause);
      return interrupted_by_.has_value();
    });
  }

  bool is_here(const Attempt& one) const {
    return one.job == run_.job() && one.allocation == run_.allocation.restarts;
  }
  bool started_here_before() const {
    return std::ranges::any_of(history_, [this](const Attempt& one) { return is_here(one); });
  }
  bool continues_here() const { return !history_.empty() && is_here(history_.back()); }

  /// Before an incarnation of the run begins (recovery.md).
  void announce(const RunOwnership& ownership) {
    const auto* before = last_incarnation(history_);
    const auto line = before == nullptr
                          ? ""
                          : told_of_restart(system_, run_, *before, last_written_s_, ownership);
    if (line.empty()) return;
    auto done = storage_.write([&] { return append_lines(run_.dir.events(), line); });
    if (!done) system_.log("dllaunch: " + done.error().what + "\n");
  }

  /// Returns the trouble with the run's directory when ranks failed; empty: none. Waits until it is
  /// over or the patience is exhausted, at most until then.
  std::string wait_for_storage(Clock::time_point at_most = Clock::time_point::max()) {
    auto first = storage_.trouble();
    if (first.empty()) return "";
    system_.log(fmt::format("dllaunch: {}: waiting\n", first));
    const auto give_up_at = std::min(at_most, Clock::now() + patience_for_storage(run_.recovery));
    while (!(unusable_ = storage_.trouble()).empty() && Clock::now() < give_up_at) {
      interrupted_by_ = wait(milliseconds(1000));
      if (interrupted_by_) break;
    }
    return first;
  }

  /// The ranks ended while the run directory was unusable. Do not restart until it is usable.
  std::optional<Decision> decide_of_storage(Attempt& attempt) {
    if (attempt.cause != Cause::storage) return std::nullopt;
    if (interrupted_by_) {
      attempt.cause = cause_of_signal(*std::exchange(interrupted_by_, std::nullopt));
      return decide(this_try(), run_.recovery, seconds_left());
    }
    if (unusable_.empty()) return std::nullopt;
    const auto patience =
        std::chrono::duration<double>(patience_for_storage(run_.recovery)).count();
    return Decision{.next = Next::stop,
                    .reason = fmt::format("{}, for {:.0f} s", unusable_, patience),
                    .exit_code = exit_code::environment};
  }

  Cause cause_of_signal(int signal) const {
    if (is_warning(signal, run_, allocation_end_)) return Cause::time_limit;
    return supervisor_parent_was_killed() ? Cause::cut_short : Cause::cancelled;
  }

  /// Checks the nodes before a start. Returns a decision if too few are fit.
  std::optional<Decision> look_at_nodes(SupervisedRun& here) {
    if (run_.allocation.job.empty()) return std::nullopt;
    const bool preflight = is_preflight_due(this_try(), run_.recovery, continues_here());
    auto nodes = choose_start_nodes(
        system_, run_, preflight, started_here_before(),
        {numberer_.network(), numberer_.before(),
         witness_.unwanted(run_.recovery.plan.avoid, run_.allocation.nodes, run_.nodes)},
        bad_nodes(corruptions_));
    const auto seen = seen_in(nodes, run_.allocation, unix_seconds());
    if (seen) append(line_of(*seen));
    silent_ = nodes.fitness.silent;
    // The step that delays the ranks keeps its CPUs.
    if (!history_.empty() && is_delay(history_.back())) nodes.overlap = true;
    held_ = run_.recovery.plan.elastic() ? static_cast<int>(nodes.held) : 0;
    if (const auto words = start_on(nodes, here); !words.empty()) system_.log(words);
    const auto& why = nodes.fitness.why;
    witness_.saw(nodes.fitness.verdicts, nodes.fitness.unfit);
    if (!nodes.too_few) {
      if (const auto numbered = numberer_.number(here)) append(line_of(*numbered));
      return std::nullopt;
    }
    auto decision = decide_of_nodes(seen->unfit, why, put_back_for_nodes_, run_.recovery);
    if (decision) write(*decision);
    if (!decision) system_.log(fmt::format("dllaunch: not fit: {}\n", why));
    return decision;
  }

  Decision attempt() {
    if (const auto reason = taken_over(system_, run_, ownership_, started_here_before());
        !reason.empty())
      return give_way(reason);
    auto ownership = keep_trying([this] {
      return storage_.write([this] { return take_run_ownership(run_.dir, system_); });
    });
    if (interrupted_by_) return decide_of_signal(*std::exchange(interrupted_by_, std::nullopt));
    if (!ownership) return cannot_start(ownership.error());
    ownership_ = *ownership;
    reserve_journal(run_.dir);
    watchdog_step_.keep(Clock::now());
    end_orphan_ranks(system_, run_.dir, run_.allocation);
    SupervisedRun here = run_;
    here.again = started_here_before() && run_.start_name.empty();
    if (auto unfit = look_at_nodes(here)) return *std::move(unfit);
    announce(*ownership);
    if (!history_.empty()) system_.log(fmt::format("{}{}\n", attempt_mark, history_.size() + 1));
    history_.push_back({.job = run_.job(), .allocation = run_.allocation.restarts});
    auto& attempt = history_.back();
    const auto checkpoint = checkpoint_name();
    const JournalAttempt begun{.time = unix_seconds(),
                               .job = attempt.job,
                               .allocation = attempt.allocation,
                               .attempt = attempts_here(history_),
                               .fencing_token = ownership->fencing_token(),
                               .checkpoint = checkpoint,
                               .nodes = held_ > 0 ? static_cast<int>(here.nodes) : 0,
                               .held = held_};
    append(line_of(begun));
    const auto logs = log_sizes(run_.dir);
    witness_.begins(here.allocation.nodes, begun.fencing_token);
    AttemptWatch watch(system_, here, *ownership, signals_, allocation_end_,
                       {.each_turn = [this] { watchdog_step_.keep(Clock::now()); },
                        .waits = [this](const std::string& why) { write_wait(why); }});
    const auto end = watch.run();
    if (!end) return cannot_start(end.error());
    end_descendants(milliseconds(500), {watchdog_step_.pid()});
    judge(*end, here.allocation, begun, logs, attempt);
    for (const auto& found :
         look_for_corruptions(run_.dir, here.allocation, begun.fencing_token, attempt)) {
      append(line_of(found));
      corruptions_.push_back(found);
    }
    const auto of_storage = decide_of_storage(attempt);
    auto decision = of_storage ? *of_storage : decide(this_try(), run_.recovery, seconds_left());
    if (supervisor_parent_was_killed()) decision = without_restart(std::move(decision));
    if (attempt.cause == Cause::superseded) return give_way(end->output);
    // The query to Slurm may have taken long.
    if (auto reason = ownership_lost(*ownership_); !reason.empty()) return give_way(reason);
    const bool completed = attempt.cause == Cause::completed;
    if (completed) witness_.ended(attempt);  // who waits for the run may ask the book at once
    if (completed) finish();
    append(line_of(begun, attempt, unix_seconds()));
    write(decision);
    witness_.ended(attempt);  // else nothing holds up the decision
    return decision;
  }

  void judge(const StarterExit& end, const JobAllocation& where, const JournalAttempt& begun,
             const LogSizes& logs, Attempt& attempt) {
    const auto job = attempt.job;
    const auto allocation = attempt.allocation;
    attempt = classify_exit(end);
    attempt.job = job;
    attempt.allocation = allocation;
    const bool final = is_final(attempt.exit_code) || is_final(attempt.dead.exit_code);
    const bool died = attempt.cause == Cause::failed || attempt.cause == Cause::unproven ||
                      attempt.cause == Cause::stalled;
    const bool look = run_.recovery.asks_ranks && !final;
    const auto trouble = died && look ? wait_for_storage() : "";
    if (const auto checkpoint = checkpoint_name(); !checkpoint.empty())
      attempt.new_checkpoint = checkpoint != begun.checkpoint;
    if (!trouble.empty()) {
      attempt.cause = Cause::storage;
      attempt.detail = trouble;
      return;
    }
    look_at_own_job(system_, run_.allocation, attempt);
    if (attempt.cause == Cause::cancelled) look_who_cancelled(system_, run_.allocation, attempt);
    // Peers of a lost node fail before Slurm reports it, or wait for it; Slurm itself requeues.
    const bool requeued = attempt.cause == Cause::requeued;
    const auto lost = requeued       ? nodes_out_of_order(system_, where, std::chrono::seconds(2))
                      : died && look ? nodes_out_of_order(system_, where)
                                     : std::nullopt;
    if (lost && !lost->names.empty()) {
      if (!requeued) attempt.cause = Cause::lost_node;
      attempt.detail = lost->names;
    }
    if (attempt.cause == Cause::lost_node)
      attempt.enough_nodes = has_enough_nodes(system_, run_, silent_);
    if (attempt.cause != Cause::failed && attempt.cause != Cause::unproven) return;
    // What the other ranks wrote is of their waiting.
    if (!end.unbegun.empty()) return;
    if (attempt.dead.exit_code == exit_code::start_again) return;  // no error
    if (const auto error = first_error(run_.dir, attempt.dead, begun.time, logs)) {
      attempt.error_rank = error->rank;
      attempt.first_error = error->line;
      // The disk may be full although this line was still written.
      if (look && storage_.is_blamed_by(error->line)) {
        attempt.cause = Cause::storage;
        attempt.detail = describe(*error);
      }
    }
  }

  /// A supervisor that lost ownership writes nothing into the run.
  Decision give_way(const std::string& reason) const {
    system_.log("dllaunch: " + reason + "; exiting\n");
    return {.next = Next::stop, .reason = reason};
  }

  Decision cannot_start(const Error& error) {
    Decision decision{.next = Next::stop, .reason = error.what};
    decision.exit_code = exit_code::environment;
    write(decision);
    return decision;
  }

  /// Returns the signal that arrived during the wait; if several, one that means "stop".
  std::optional<int> wait(milliseconds pause) const {
    const auto until = Clock::now() + pause;
    while (Clock::now() < until) {
      const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
      pollfd signal{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
      poll_awake(&signal, 1, static_cast<int>(left.count()) + 1);
      const auto came = signals_.take();
      const auto stop = std::find_if(came.begin(), came.end(), [this](int one) {
        return !is_warning(one, run_, allocation_end_);
      });
      if (!came.empty()) return stop != came.end() ? *stop : came.front();
    }
    return std::nullopt;
  }

  /// Returns the exit code if the run was ended meanwhile.
  std::optional<int> pause(milliseconds backoff) {
    const auto came = wait(backoff);
    return came ? std::optional(end_by(*came)) : std::nullopt;
  }

  /// Of a signal that arrives between two attempts, or before the first.
  Decision decide_of_signal(int signal) {
    if (!continues_here())
      history_.push_back({.job = run_.job(), .allocation = run_.allocation.restarts});
    history_.back().cause = cause_of_signal(signal);
    auto decision = without_restart(decide(this_try(), run_.recovery, seconds_left()));
    write(decision);
    return decision;
  }

  int end_by(int signal) {
    const auto decision = decide_of_signal(signal);
    return decision.next == Next::requeue ? requeue(decision) : exit_code::job_failed;
  }

  /// Requeues the job. Retries while Slurm is unreachable, until little of the allocation is left.
  int requeue(const Decision& decision) {
    if (!decision.ask_slurm || run_.allocation.job.empty()) return decision.exit_code;
    // A requeue ends the whole job, and the other components may still be saving.
    if (!run_.allocation.group.empty()) return exit_code::requeue_whole;
    const auto stopped = [this](milliseconds pause) {
      const auto came = wait(pause);
      return came && !is_warning(*came, run_, allocation_end_);
    };
    const auto done =
        dllaunch::requeue(system_, run_.allocation,
                          {.exclude = exclusion_of(run_, decision.exclude),
                           .silent = silent_,
                           .seconds_left = [this] { return seconds_left(); },
                           .waits = [this](const std::string& why) { write_wait(why); },
                           .stopped = stopped});
    if (!done)
      write({.next = Next::stop,
             .reason = fmt::format("{}; not requeued: {}", decision.reason, done.error().what),
             .status = decision.status,
             .exit_code = decision.exit_code},
            /*wanted_requeue=*/true);
    return decision.exit_code;
  }

  void append(const std::string& line) {
    if (run_.dir.path.empty()) return;
    const auto done = storage_.write([&] { return append_to_journal(run_.dir, line); });
    if (!done && !std::exchange(refused_, true))
      system_.log("dllaunch: " + done.error().what + "\n");
  }

  void write_wait(const std::string& why) {
    if (std::exchange(waits_for_, why) == why) return;
    append(line_of(JournalWait{unix_seconds(), run_.job(), run_.allocation.restarts, why}));
    if (!why.empty()) system_.log(fmt::format("dllaunch: waiting: {}\n", why));
  }

  void write(const Decision& decision, bool wanted_requeue = false) {
    const bool restarts = decision.next == Next::restart;
    const auto line = record_of(decision, run_, unix_seconds(), wanted_requeue);
    append(line_of(line,
                   restarts ? std::optional(std::chrono::duration<double>(decision.backoff).count())
                            : std::nullopt));
    if (decision.next == Next::stop && decision.status == RunStatus::completed) return;
    const auto words = decision.next == Next::hold
                           ? hold_words(line, run_.dir)
                           : fmt::format("{}: {}", to_string(decision.next), decision.reason);
    system_.log(fmt::format("dllaunch: {}\n", words));
  }

  System& system_;
  SupervisedRun run_;  // a retry changes it
  const SupervisorSignals signals_;
  const RunStorage storage_;
  AllocationEnd allocation_end_;
  WatchdogStep watchdog_step_;
  NodeNumberer numberer_;
  NodeWitness witness_;
  std::vector<Attempt> history_;
  std::size_t before_retry_ = 0;                // attempts before the newest retry
  int put_back_for_nodes_ = 0;                  // requeues because of unfit nodes
  std::vector<std::string> silent_ = {};        // nodes that did not answer the last pre-flight
  std::vector<JournalCorruption> corruptions_;  // of the run
  int held_ = 0;                                // nodes of an elastic job
  double last_written_s_ = 0;                   // by previous supervisors
  std::optional<RunOwnership> ownership_;       // of the last attempt
  bool refused_ = false;                        // the journal error was reported
  std::string unusable_ = {};                   // why the run's directory is unusable
  std::string waits_for_ = {};                  // what the journal said last that it waits for
  std::optional<int> interrupted_by_ = {};      // signal that arrived during a wait
};

}  // namespace

int supervise(System& system, const SupervisedRun& run) {
  return Supervisor(system, run).run();
}

}  // namespace dllaunch
