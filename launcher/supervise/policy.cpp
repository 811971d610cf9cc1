#include "launcher/supervise/policy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <utility>

#include "launcher/base/exit_code.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;

/// This many attempts without progress stop the run.
constexpr int most_without_checkpoint = 3;
/// For commands, whose checkpoints are not visible: three full time limits.
constexpr int most_ignored_stop = 3;
/// Of a command that the request to save killed: once may be chance, before it has its handler.
constexpr int most_killed_by_request = 2;
/// Consecutive: about an hour of an unreachable controller, or ten minutes of a silent node, which
/// Slurm should have noticed by then (SlurmdTimeout, 300 s).
constexpr int most_not_started = 60;
constexpr int most_unreachable = 15;
constexpr milliseconds first_backoff(1000);
constexpr milliseconds longest_backoff(60'000);
/// Minimum time for ranks to start.
constexpr double least_seconds = 30;

Decision stop(RunStatus status, std::string reason, int exit_code) {
  return {
      .next = Next::stop, .reason = std::move(reason), .status = status, .exit_code = exit_code};
}

/// Returns an exit code up to 128. Slurm and shells read higher codes as a signal to the supervisor
/// itself.
int exit_code_of(const Attempt& attempt) {
  constexpr int most = 128;
  const bool ours = attempt.exit_code > 0 && attempt.exit_code <= most;
  return ours ? attempt.exit_code : exit_code::job_failed;
}

RunStatus status_of(const Attempt& attempt) {
  switch (attempt.cause) {
    case Cause::completed:
      return RunStatus::completed;
    case Cause::cancelled:
      return RunStatus::cancelled;
    case Cause::time_limit:
      return RunStatus::timeout;
    case Cause::preempted:
      return RunStatus::preempted;
    case Cause::lost_node:
      return RunStatus::node_fail;
    default:
      return attempt.dead.out_of_memory ? RunStatus::out_of_memory : RunStatus::failed;
  }
}

/// Removes numbers, which differ between runs of the same error: addresses, times, process ids.
std::string without_numbers(std::string_view line) {
  std::string text;
  for (const char c : line) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) text += c;
    if (digit && !text.ends_with('#')) text += '#';
  }
  return text;
}

bool is_crash(int signal) {
  constexpr std::array<int, 5> crashes = {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL};
  return std::find(crashes.begin(), crashes.end(), signal) != crashes.end();
}

/// Returns what identifies a repeated program error; empty: the cause may be external.
std::string signature(const Attempt& attempt) {
  if (attempt.cause != Cause::failed) return "";
  const auto& dead = attempt.dead;
  if (!attempt.detail.empty()) return without_numbers(attempt.detail);
  if (dead.out_of_memory) return fmt::format("rank {} out of memory", dead.rank);
  if (dead.signal != 0 && !is_crash(dead.signal)) return "";
  if (attempt.exit_code == exit_code::start_again || dead.exit_code == exit_code::start_again)
    return "";
  if (!attempt.first_error.empty())
    return fmt::format("rank {}: {}", attempt.error_rank, without_numbers(attempt.first_error));
  if (dead.rank < 0) return "";
  return fmt::format("rank {} code {} signal {}", dead.rank, dead.exit_code, dead.signal);
}

/// Whether `next` repeated the computation of `one` and found the rank whose numbers were wrong.
bool is_answered_by(const Attempt& one, const Attempt& next) {
  return one.cause == Cause::corrupted && one.asks && next.cause == Cause::corrupted &&
         next.dead.rank >= 0 && one.job == next.job && one.allocation == next.allocation;
}

/// Returns the attempts whose ranks started. An attempt that found wrong numbers and the one that
/// found their rank count as one, since there was one fault.
std::vector<Attempt> incarnations_of(const std::vector<Attempt>& history) {
  std::vector<Attempt> incarnations;
  for (const auto& one : history) {
    if (one.cause == Cause::not_started) continue;
    const bool answers = !incarnations.empty() && is_answered_by(incarnations.back(), one);
    const bool new_checkpoint = answers && incarnations.back().new_checkpoint;
    if (answers) incarnations.pop_back();
    incarnations.push_back(one);
    incarnations.back().new_checkpoint |= new_checkpoint;
  }
  return incarnations;
}

bool same_mistake_again(const std::vector<Attempt>& history) {
  if (history.size() < 2) return false;
  const auto& last = history.back();
  const auto& before = history[history.size() - 2];
  if (last.new_checkpoint || last.job != before.job) return false;
  const auto what = signature(last);
  return !what.empty() && what == signature(before);
}

/// Returns the number of consecutive attempts, including the last, without a new checkpoint.
/// Another job of the same run is a new try by the user and starts the count again.
int without_checkpoint(const std::vector<Attempt>& history) {
  int count = 0;
  for (auto attempt = history.rbegin(); attempt != history.rend(); ++attempt) {
    if (attempt->cause == Cause::not_started) continue;
    if (attempt->new_checkpoint || attempt->job != history.back().job) break;
    ++count;
  }
  return count;
}

/// Counts over all allocations of the job: otherwise a run that always fails too near the time
/// limit for a restart would be requeued forever.
int failures_in_a_row(const std::vector<Attempt>& history) {
  int count = 0;
  for (auto attempt = history.rbegin(); attempt != history.rend(); ++attempt) {
    const auto cause = attempt->cause;
    const bool died = cause == Cause::failed || cause == Cause::stalled ||
                      cause == Cause::unproven || cause == Cause::storage ||
                      cause == Cause::corrupted;
    if (!died || attempt->new_checkpoint || attempt->job != history.back().job) break;
    ++count;
  }
  return count;
}

/// Returns the number of consecutive allocations, including the last, in which the ranks hung until
/// the end.
int ignored_stop(const std::vector<Attempt>& history) {
  int count = 0;
  for (auto attempt = history.rbegin(); attempt != history.rend(); ++attempt) {
    if (attempt->cause == Cause::not_started) continue;
    const bool idle = attempt->cause == Cause::time_limit && attempt->idle;
    if (!idle || attempt->job != history.back().job) break;
    ++count;
  }
  return count;
}

/// Returns the number of consecutive attempts, including the last, that the request to save killed
/// and that saved nothing (exit_classification.cpp).
int killed_by_request(const std::vector<Attempt>& history) {
  int count = 0;
  for (auto attempt = history.rbegin(); attempt != history.rend(); ++attempt) {
    const bool killed = attempt->cause == Cause::time_limit && attempt->dead.signal != 0;
    if (!killed || attempt->new_checkpoint || attempt->job != history.back().job) break;
    ++count;
  }
  return count;
}

Decision requeue(const Attempt& last, std::string reason, bool ask_slurm) {
  return {.next = Next::requeue,
          .reason = std::move(reason),
          .ask_slurm = ask_slurm,
          .status = status_of(last),
          .exit_code = exit_code::job_failed};
}

/// Returns a delay that doubles with each consecutive attempt without progress.
milliseconds backoff_after(int fruitless) {
  milliseconds pause = first_backoff;
  for (int i = 1; i < fruitless && pause < longest_backoff; ++i) pause *= 2;
  return std::min(pause, longest_backoff);
}

/// The input of the rules.
struct Situation {
  Situation(const std::vector<Attempt>& all, const RecoverySettings& wanted,
            std::optional<double> left)
      : history(all), settings(wanted), seconds_left(left) {}

  const std::vector<Attempt>& history;
  const RecoverySettings& settings;
  const std::optional<double> seconds_left;
  const Attempt& last = history.back();
  const std::vector<Attempt> incarnations = incarnations_of(history);
  const int restarts = attempts_here(incarnations) - 1;
  const int most_restarts = settings.plan.max_restarts;
  const int fruitless = without_checkpoint(incarnations);
  const milliseconds backoff = backoff_of();

  /// What ended the ranks of a lost node is not on the others.
  milliseconds backoff_of() const {
    return is(Cause::lost_node) && fruitless <= 1 ? milliseconds(0) : backoff_after(fruitless);
  }
  bool is(Cause cause) const { return last.cause == cause; }
  bool left_with(int code) const {
    return is(Cause::failed) && (last.exit_code == code || last.dead.exit_code == code);
  }
  bool too_late() const {
    const double needed = least_seconds + std::chrono::duration<double>(backoff).count() +
                          (settings.asks_ranks ? settings.grace_seconds : 0);
    return seconds_left && *seconds_left < needed;
  }
  /// Without restarts or time for one, the end is treated like any lost node.
  bool can_use_spare_node() const {
    return is(Cause::lost_node) && last.enough_nodes && restarts < most_restarts && !too_late();
  }
  /// For `train:` only: checkpoints of commands are not visible.
  bool comes_no_further() const {
    const bool mends = most_restarts > 0 || settings.plan.requeue_on.any();
    return settings.trains && mends && fruitless >= most_without_checkpoint;
  }
};

/// Consumes neither a restart nor an attempt without progress.
Decision wait_for_slurm(const Situation& now) {
  const auto& last = now.last;
  const bool node = !last.detail.empty();
  int tries = 0;
  for (auto one = now.history.rbegin(); one != now.history.rend() && one->cause == last.cause;
       ++one)
    ++tries;
  const auto backoff = backoff_after(tries);
  const bool in_time =
      !now.seconds_left ||
      *now.seconds_left > least_seconds + std::chrono::duration<double>(backoff).count();
  const bool too_often = tries > (node ? most_unreachable : most_not_started);
  const auto reason = fmt::format("{} ({} in a row)", describe(last), tries);
  const auto& wanted = now.settings.plan.requeue_on;
  const bool back = too_often ? node && wanted.node_fail : wanted.timeout;
  if ((too_often || !in_time) && back && now.settings.asks_ranks)
    return requeue(last, reason + "; requeueing", true);
  if (too_often || !in_time) return stop(status_of(last), reason, exit_code::environment);
  return {.next = Next::restart,
          .reason = describe(last) + "; this does not count as a restart",
          .backoff = backoff,
          .status = RunStatus::failed,
          .exit_code = exit_code::environment};
}

/// Requeues the whole job if the job file allows it (`wanted`).
Decision requeue_if(bool wanted, const char* word, const Situation& now) {
  const auto& last = now.last;
  // A command not declared restartable is left to Slurm.
  if (wanted) return requeue(last, describe(last) + "; requeueing", now.settings.asks_ranks);
  return stop(status_of(last),
              fmt::format("{}; recovery.requeue_on does not list {}", describe(last), word),
              exit_code::job_failed);
}

Decision stop_fruitless(const Situation& now) {
  return stop(status_of(now.last),
              fmt::format("{} attempts in a row ended without a new checkpoint; the last: {}",
                          now.fruitless, describe(now.last)),
              exit_code_of(now.last));
}

/// No restarts were requested, or they are used up.
Decision stop_without_restarts(const Situation& now) {
  const auto why = now.most_restarts == 0 ? ""
                   : now.restarts == 1    ? "; the restart did not help"
                                          : fmt::format("; {} restarts did not help", now.restarts);
  return stop(status_of(now.last), describe(now.last) + why, exit_code_of(now.last));
}

Decision stop_near_time_limit(const Situation& now) {
  if (now.settings.plan.requeue_on.timeout)
    return requeue(now.last, describe(now.last) + "; too near the time limit for a restart here",
                   true);
  return stop(status_of(now.last), describe(now.last) + "; too near the time limit for a restart",
              exit_code_of(now.last));
}

Decision restart_here(const Situation& now) {
  return {.next = Next::restart,
          .reason = fmt::format("{}; restart {} of {}", describe(now.last), now.restarts + 1,
                                now.most_restarts),
          .backoff = now.backoff,
          .status = status_of(now.last),
          .exit_code = exit_code_of(now.last)};
}

/// Whether the program ended by an error of its own, and did not ask never to be started again. A
/// rank that is killed from outside says nothing about it.
bool is_of_program(const Situation& now) {
  const auto& dead = now.last.dead;
  const bool from_outside = dead.signal != 0 && !is_crash(dead.signal) && !dead.out_of_memory;
  return now.is(Cause::stalled) ||
         (now.is(Cause::failed) && !from_outside && !now.left_with(exit_code::do_not_requeue));
}

/// Keeps the allocation before a stop that a person may mend, as long as ranks could still be
/// started and asked to save.
Decision hold_first(const Situation& now, Decision decision) {
  double seconds = now.settings.plan.hold_seconds;
  const double reserve = least_seconds + (now.settings.asks_ranks ? now.settings.grace_seconds : 0);
  if (now.seconds_left) seconds = std::min(seconds, *now.seconds_left - reserve);
  if (decision.next != Next::stop || seconds <= 0 || !is_of_program(now)) return decision;
  decision.next = Next::hold;
  decision.hold = std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
  decision.reason = describe(now.last);
  if (const auto& error = now.last.first_error; !error.empty())
    decision.reason += fmt::format(" ({})", error);
  return decision;
}

struct Rule {
  bool (*applies)(const Situation& now);
  Decision (*decision)(const Situation& now);
};

/// The first rule that applies decides.
constexpr std::array rules = {
    Rule{[](const Situation& now) { return now.is(Cause::not_started); }, wait_for_slurm},

    // Ends that no retry would fix.
    Rule{[](const Situation& now) { return now.is(Cause::completed); },
         [](const Situation&) {
           return stop(RunStatus::completed, "completed", exit_code::success);
         }},
    Rule{[](const Situation& now) { return now.is(Cause::superseded); },
         [](const Situation& now) {
           return stop(RunStatus::failed, describe(now.last), exit_code::job_failed);
         }},
    Rule{[](const Situation& now) { return now.is(Cause::cancelled); },
         [](const Situation& now) {
           return stop(RunStatus::cancelled, describe(now.last),
                       now.last.exit_code == 0 ? exit_code::success : exit_code_of(now.last));
         }},
    Rule{[](const Situation& now) { return now.left_with(exit_code::do_not_requeue); },
         [](const Situation& now) {
           return stop(RunStatus::failed, describe(now.last) + ": never restart",
                       exit_code::do_not_requeue);
         }},
    Rule{[](const Situation& now) { return now.left_with(exit_code::bad_request); },
         [](const Situation& now) {
           return stop(status_of(now.last),
                       describe(now.last) + ": another start would end the same way",
                       exit_code::bad_request);
         }},
    Rule{[](const Situation& now) { return ignored_stop(now.incarnations) >= most_ignored_stop; },
         [](const Situation& now) {
           return stop(RunStatus::timeout,
                       fmt::format("{} times in a row there was no progress in the second half of "
                                   "the time limit, and ranks ignored the signal to save; "
                                   "runtime.stall_abort_seconds ends hung ranks sooner",
                                   ignored_stop(now.incarnations)),
                       exit_code::job_failed);
         }},
    Rule{[](const Situation& now) {
           return killed_by_request(now.incarnations) >= most_killed_by_request;
         },
         [](const Situation& now) {
           return stop(RunStatus::timeout,
                       fmt::format("{}, {} times in a row without a new checkpoint",
                                   describe(now.last), killed_by_request(now.incarnations)),
                       exit_code::job_failed);
         }},
    // A job requeued by hand is meant to continue.
    Rule{[](const Situation& now) { return !now.is(Cause::requeued) && now.comes_no_further(); },
         stop_fruitless},

    // The whole allocation ends.
    Rule{[](const Situation& now) { return now.is(Cause::time_limit); },
         [](const Situation& now) {
           return requeue_if(now.settings.plan.requeue_on.timeout, "timeout", now);
         }},
    Rule{[](const Situation& now) { return now.is(Cause::preempted); },
         [](const Situation& now) {
           return requeue_if(now.settings.plan.requeue_on.preempted, "preempted", now);
         }},
    Rule{[](const Situation& now) { return now.is(Cause::lost_node) && !now.can_use_spare_node(); },
         [](const Situation& now) {
           return requeue_if(now.settings.plan.requeue_on.node_fail, "node_fail", now);
         }},
    Rule{[](const Situation& now) { return now.is(Cause::requeued); },
         [](const Situation& now) { return requeue(now.last, describe(now.last), false); }},

    // The attempt ended; the allocation goes on.
    Rule{[](const Situation& now) { return now.restarts >= now.most_restarts; },
         stop_without_restarts},
    Rule{[](const Situation& now) { return same_mistake_again(now.incarnations); },
         [](const Situation& now) {
           return stop(
               status_of(now.last),
               describe(now.last) + ", the same as before: another start would end the same way",
               exit_code_of(now.last));
         }},
    Rule{[](const Situation& now) {
           return failures_in_a_row(now.incarnations) > now.most_restarts;
         },
         [](const Situation& now) {
           return stop(status_of(now.last),
                       fmt::format("{}; {} starts in a row have failed, in {} allocations",
                                   describe(now.last), failures_in_a_row(now.incarnations),
                                   now.last.allocation + 1),
                       exit_code_of(now.last));
         }},
    Rule{[](const Situation& now) { return now.too_late(); }, stop_near_time_limit},
    Rule{[](const Situation&) { return true; }, restart_here},
};

}  // namespace

Decision without_restart(Decision decision) {
  if (decision.next != Next::restart) return decision;
  decision.next = Next::requeue;
  decision.ask_slurm = true;
  return decision;
}

int attempts_here(const std::vector<Attempt>& history) {
  if (history.empty()) return 0;
  const auto& last = history.back();
  return static_cast<int>(std::count_if(history.begin(), history.end(), [&](const Attempt& one) {
    return one.job == last.job && one.allocation == last.allocation;
  }));
}

const Attempt* last_incarnation(const std::vector<Attempt>& history) {
  const auto found = std::find_if(history.rbegin(), history.rend(), [](const Attempt& one) {
    return one.cause != Cause::not_started;
  });
  return found == history.rend() ? nullptr : &*found;
}

bool is_preflight_due(const std::vector<Attempt>& history, const RecoverySettings& settings,
                      bool same_allocation) {
  const auto when = settings.plan.preflight;
  if (when == PreflightWhen::never) return false;
  if (history.empty()) return when == PreflightWhen::always;
  const auto& last = history.back();
  // The nodes that are left had the ranks a moment ago, but for spare ones.
  const bool shrinks = same_allocation && last.cause == Cause::lost_node && last.enough_nodes &&
                       settings.plan.spare_nodes == 0;
  if (shrinks && when != PreflightWhen::always) return false;
  // Pre-flight needs the controller too.
  return last.cause != Cause::not_started || !last.detail.empty();
}

std::optional<Decision> decide_of_nodes(const std::string& unfit, const std::string& why,
                                        int in_a_row, const RecoverySettings& settings) {
  constexpr int most_in_a_row = 3;
  const bool may = settings.plan.requeue_on.node_fail && settings.asks_ranks;
  if (!may || in_a_row >= most_in_a_row) return std::nullopt;
  return Decision{.next = Next::requeue,
                  .reason = fmt::format("not fit: {}; requeueing without {}", why, unfit),
                  .ask_slurm = true,
                  .status = RunStatus::node_fail,
                  .exclude = unfit};
}

milliseconds patience_for_storage(const RecoverySettings& settings) {
  constexpr double otherwise_s = 600;
  const double limit_s = settings.plan.stall_abort_seconds;
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::duration<double>(limit_s > 0 ? limit_s : otherwise_s));
}

Decision decide(const std::vector<Attempt>& history, const RecoverySettings& settings,
                std::optional<double> seconds_left) {
  const Situation now(history, settings, seconds_left);
  const auto rule = std::ranges::find_if(rules, [&](const Rule& one) { return one.applies(now); });
  return hold_first(now, rule->decision(now));
}

std::optional<Decision> decide_at_start(const std::vector<Attempt>& history,
                                        const RecoverySettings& settings, bool same_allocation) {
  if (history.empty()) return std::nullopt;
  const auto cause = history.back().cause;
  const bool slurms_own = cause == Cause::preempted || cause == Cause::lost_node;
  if (cause != Cause::cut_short && !slurms_own) return std::nullopt;
  const Situation now(history, settings, std::nullopt);
  if (!same_allocation)
    return now.comes_no_further() ? std::optional(stop_fruitless(now)) : std::nullopt;
  if (slurms_own) return std::nullopt;
  auto decision = decide(history, settings, std::nullopt);
  if (decision.next == Next::stop) return decision;
  return std::nullopt;
}

}  // namespace dllaunch
