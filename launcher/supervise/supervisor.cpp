#include "launcher/supervise/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include "launcher/events.hpp"
#include "launcher/execute/descendants.hpp"
#include "launcher/first_error.hpp"
#include "launcher/run_lease.hpp"
#include "launcher/stored_run.hpp"
#include "launcher/supervise/journal.hpp"
#include "launcher/verb.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

class Supervisor {
 public:
  Supervisor(World& world, const SupervisedRun& run)
      : world_(world),
        run_(run),
        signals_(run.signal),
        allocation_ends_(end_of_allocation(run.allocation, unix_seconds())) {}

  int run() {
    adopt_orphans();
    if (is_finished()) return exit_code::success;
    auto journal = read_journal(run_.dir);
    history_ = std::move(journal.history);
    last_written_s_ = journal.last_time;
    if (const auto stop = settle_the_past()) return *stop;
    while (true) {
      const auto decision = attempt();
      if (decision.next == Next::restart && pause(decision.backoff)) continue;
      if (decision.next == Next::requeue) return put_back(decision);
      return decision.next == Next::restart ? exit_code::job_failed : decision.exit_code;
    }
  }

 private:
  bool is_finished() const {
    const auto job = finished_in_job(run_.dir);
    if (!job || run_.allocation.job.empty() || *job != run_.allocation.job) return false;
    world_.note(
        fmt::format("dllaunch: job {} has finished this run before: nothing to do\n", *job));
    return true;
  }

  /// A supervisor that was killed has left an attempt without an end.
  std::optional<int> settle_the_past() {
    if (history_.empty()) return std::nullopt;
    auto& last = history_.back();
    if (last.job != run_.allocation.job) return std::nullopt;
    const bool same_allocation = last.allocation == run_.allocation.restarts;
    if (last.cause == Cause::cut_short) {
      last.new_checkpoint = checkpoint_name() != last.checkpoint;
      if (!same_allocation) last.words = "ended by Slurm, or with its node, without a word";
    }
    const auto stop = decide_at_start(history_, run_.recovery, same_allocation);
    if (!stop) return std::nullopt;
    write(*stop);
    return stop->exit_code;
  }

  /// Of the newest; empty: there is none.
  std::string checkpoint_name() const {
    return std::filesystem::path(newest_checkpoint(run_.dir)).filename().string();
  }

  std::optional<double> seconds_left() const {
    if (!allocation_ends_) return std::nullopt;
    return std::chrono::duration<double>(*allocation_ends_ - Clock::now()).count();
  }

  /// A file system that is away for a moment is no reason to give a job of days up.
  Result<Lease> take_lease() const {
    const auto give_up_at = Clock::now() + std::chrono::seconds(60);
    while (true) {
      auto lease = take_run_lease(run_.dir, world_);
      pollfd signal{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
      const bool last = lease || Clock::now() >= give_up_at;
      if (last || ::poll(&signal, 1, /*timeout=*/2000) > 0) return lease;
    }
  }

  bool started_here_before() const {
    return std::any_of(history_.begin(), history_.end(), [this](const Attempt& one) {
      return one.job == run_.allocation.job && one.allocation == run_.allocation.restarts;
    });
  }

  /// By whom the run was taken over; empty: by nobody. An orphan of a dead slurmd that took the
  /// next generation would end its successor.
  std::string taken_over() const {
    if (lease_) {
      const auto ours = lease_->check();
      const bool lost = !ours && ours.error().kind == ErrorKind::unsatisfiable;
      return lost ? ours.error().what : "";
    }
    const auto found = lease_holder(run_.dir.path);
    if (!found || !*found || (*found)->second.host.empty()) return "";
    const auto& holder = (*found)->second;
    const bool ours = holder.job == run_.allocation.job;
    const bool lost = ours ? holder.restart > run_.allocation.restarts : started_here_before();
    return lost ? "run directory was taken over by " + holder_words(holder) : "";
  }

  /// events.jsonl tells why one life of the run follows another, before it begins (recovery.md).
  /// Commands have no such file.
  void announce(const Lease& lease) {
    const auto* before = last_life(history_);
    // A job of its own is somebody's new try.
    if (!run_.recovery.trains || before == nullptr || before->job != run_.allocation.job) return;
    std::optional<double> queued = 0;
    if (before->allocation != run_.allocation.restarts) {
      const auto record = ask_of_job(world_, run_.allocation.job);
      queued = record ? queue_seconds(*record, last_written_s_) : std::nullopt;
    }
    auto done = append_lines(run_.dir.events(), restart_line({.time = unix_seconds(),
                                                              .reason = describe(*before),
                                                              .queue_seconds = queued,
                                                              .generation = lease.generation()}));
    if (!done) world_.note("dllaunch: " + done.error().what + "\n");
  }

  Decision attempt() {
    if (const auto words = taken_over(); !words.empty()) return give_way(words);
    auto lease = take_lease();
    if (!lease) return cannot_start(lease.error());
    lease_ = *lease;
    announce(*lease);
    history_.push_back({.job = run_.allocation.job, .allocation = run_.allocation.restarts});
    auto& attempt = history_.back();
    const auto checkpoint = checkpoint_name();
    const JournalAttempt begun{.time = unix_seconds(),
                               .job = attempt.job,
                               .allocation = attempt.allocation,
                               .attempt = attempts_here(history_),
                               .generation = lease->generation(),
                               .checkpoint = checkpoint};
    append(line_of(begun));
    AttemptWatch watch(world_, run_, *lease, signals_, allocation_ends_);
    const auto end = watch.run();
    if (!end) return cannot_start(end.error());
    end_descendants(milliseconds(500));
    judge(*end, begun, attempt);
    auto decision = decide(history_, run_.recovery, seconds_left());
    if (attempt.cause == Cause::superseded) return give_way(end->words);
    append(line_of(begun, attempt, unix_seconds()));
    write(decision);
    return decision;
  }

  void judge(const StarterEnd& end, const JournalAttempt& begun, Attempt& attempt) {
    const auto job = attempt.job;
    const auto allocation = attempt.allocation;
    attempt = judge_end(end);
    attempt.job = job;
    attempt.allocation = allocation;
    attempt.new_checkpoint = checkpoint_name() != begun.checkpoint;
    if (attempt.cause != Cause::failed && attempt.cause != Cause::unproven) return;
    // Peers of a lost node fail before Slurm knows why.
    if (const auto node = node_out_of_order(world_, run_.allocation); !node.empty()) {
      attempt.cause = Cause::lost_node;
      attempt.words = node;
      return;
    }
    if (const auto error = first_error(run_.dir, attempt.dead, begun.time)) {
      attempt.error_rank = error->rank;
      attempt.first_error = error->line;
    }
  }

  /// Whoever has lost the run writes nothing into it.
  Decision give_way(const std::string& words) const {
    world_.note("dllaunch: " + words + "; nothing more is done here\n");
    return {.next = Next::stop, .reason = words};
  }

  Decision cannot_start(const Error& error) {
    Decision decision{.next = Next::stop, .reason = error.what};
    decision.exit_code = exit_code::environment;
    write(decision);
    return decision;
  }

  /// False: somebody ended it meanwhile.
  bool pause(milliseconds backoff) {
    const auto until = Clock::now() + backoff;
    while (Clock::now() < until) {
      const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
      pollfd signal{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
      ::poll(&signal, 1, static_cast<int>(left.count()) + 1);
      for (const int came : signals_.take()) {
        const bool save_now = came == run_.signal && came != SIGTERM && came != SIGINT;
        history_.back().cause = save_now ? Cause::time_limit : Cause::cancelled;
        const auto decision = decide(history_, run_.recovery, seconds_left());
        write(decision);
        if (decision.next == Next::requeue) put_back(decision);
        return false;
      }
    }
    world_.note(fmt::format("{}{}\n", attempt_mark, attempts_here(history_) + 1));
    return true;
  }

  int put_back(const Decision& decision) {
    if (!decision.ask_slurm || run_.allocation.job.empty()) return decision.exit_code;
    const auto record = ask_of_job(world_, run_.allocation.job);
    // Slurm has done it by itself.
    if (record && record->restarts != run_.allocation.restarts) return decision.exit_code;
    const auto done = requeue(world_, run_.allocation);
    if (done) return decision.exit_code;
    const bool slurms_turn = record && record->state != "RUNNING";
    if (slurms_turn) {
      world_.note("dllaunch: " + done.error().what + "\n");
      return decision.exit_code;
    }
    write({.next = Next::stop,
           .reason = done.error().what,
           .status = decision.status,
           .exit_code = decision.exit_code});
    return decision.exit_code;
  }

  void append(const std::string& line) {
    if (run_.dir.path.empty()) return;
    if (auto done = append_to_journal(run_.dir, line); !done && !refused_) {
      refused_ = true;
      world_.note("dllaunch: " + done.error().what + "\n");
    }
  }

  void write(const Decision& decision) {
    const bool restarts = decision.next == Next::restart;
    append(line_of(JournalDecision{.time = unix_seconds(),
                                   .job = run_.allocation.job,
                                   .allocation = run_.allocation.restarts,
                                   .next = decision.next,
                                   .reason = decision.reason,
                                   .status = decision.status},
                   restarts ? std::optional(std::chrono::duration<double>(decision.backoff).count())
                            : std::nullopt));
    const bool completed = decision.next == Next::stop && decision.status == RunStatus::completed;
    if (completed) {
      auto marked = mark_finished(run_.dir, run_.allocation.job);
      if (!marked) world_.note("dllaunch: " + marked.error().what + "\n");
      return;
    }
    world_.note(fmt::format("dllaunch: {}: {}\n", to_string(decision.next), decision.reason));
  }

  World& world_;
  const SupervisedRun& run_;
  const SupervisorSignals signals_;
  std::optional<AttemptWatch::Time> allocation_ends_;
  std::vector<Attempt> history_;
  double last_written_s_ = 0;   // by the supervisors before this one
  std::optional<Lease> lease_;  // of the last attempt
  bool refused_ = false;        // the journal, said already
};

}  // namespace

Result<SupervisedRun> read_supervised_run(World& world, const std::string& run_dir,
                                          std::vector<std::string> start) {
  auto stored = read_stored_run(world, std::filesystem::absolute(run_dir).lexically_normal());
  if (!stored) return std::move(stored).error();
  const auto program = world.find_program(start.at(0));
  if (!program)
    return Error{ErrorKind::unavailable, start[0] + " is not installed on this node",
                 "load it in environment.modules"};
  const auto& plan = stored->plan;
  return SupervisedRun{.dir = stored->dir,
                       .recovery = {.plan = plan.recovery,
                                    .trains = stored->trains,
                                    .asks_ranks = plan.asks_ranks,
                                    .grace_seconds = plan.grace_seconds},
                       .signal = signal_of_name(plan.signal),
                       .start = std::move(start),
                       .program = *program,
                       .allocation = read_allocation(world)};
}

int supervise(World& world, const SupervisedRun& run) {
  return Supervisor(world, run).run();
}

}  // namespace dllaunch
