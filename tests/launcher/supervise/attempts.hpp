// Attempts of a run as tests of what is decided about them want them.
#pragma once

#include <csignal>
#include <string>
#include <utility>

#include "launcher/supervise/policy.hpp"

namespace dllaunch {

inline constexpr RecoverySettings training{
    .plan = {.max_restarts = 3, .requeue_on = {}, .stall_abort_seconds = 600},
    .trains = true,
    .asks_ranks = true,
    .grace_seconds = 120};
/// `run:` with a `recovery:` block.
inline constexpr RecoverySettings command{
    .plan = {.max_restarts = 3, .requeue_on = {}}, .trains = false, .asks_ranks = true};
/// `run:` without one.
inline constexpr RecoverySettings unprepared{};

inline Attempt ended(Cause cause, int code = 0) {
  return {.job = "17", .cause = cause, .exit_code = code};
}
inline Attempt exited(int rank, int code, std::string error = "") {
  auto attempt = ended(Cause::failed, code);
  attempt.dead = {.rank = rank, .host = "n2", .exit_code = code};
  if (!error.empty()) attempt.error_rank = rank;
  attempt.first_error = std::move(error);
  return attempt;
}
inline Attempt killed(int rank, int signal = SIGKILL) {
  auto attempt = ended(Cause::failed, 128 + signal);
  attempt.dead = {.rank = rank, .host = "n2", .signal = signal};
  return attempt;
}
inline Attempt unreachable() {
  auto attempt = ended(Cause::not_started, 1);
  attempt.detail = "n3";
  return attempt;
}
inline Attempt in_allocation(int number, Attempt attempt) {
  attempt.allocation = number;
  return attempt;
}
/// By the signal that asked it to save.
inline Attempt killed_by_request(int rank) {
  auto attempt = killed(rank, SIGUSR2);
  attempt.cause = Cause::time_limit;
  attempt.detail = describe_unsaved(attempt.dead);
  return attempt;
}
/// Through its whole time limit.
inline Attempt hung(Attempt attempt) {
  attempt.idle = true;
  return attempt;
}
inline Attempt saved(Attempt attempt) {
  attempt.new_checkpoint = true;
  return attempt;
}

inline RecoverySettings with(RecoverySettings settings, int max_restarts,
                             RequeueOn requeue_on = {}) {
  settings.plan.max_restarts = max_restarts;
  settings.plan.requeue_on = requeue_on;
  return settings;
}

}  // namespace dllaunch
