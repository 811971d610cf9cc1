// Whether this process may still write to its run directory, or a later incarnation has taken it
// over.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/rank/run_ownership.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Thread-safe. Once closed, stays closed.
class Fence {
 public:
  /// Always open: this incarnation has no fencing token.
  Fence() = default;
  explicit Fence(const RunOwnership& ownership)
      : Fence(ownership.fencing_token(), [ownership] { return ownership.check(); }) {}
  /// `ask`: as RunOwnership::check(). Called by any thread, by several at once.
  Fence(std::int64_t fencing_token, std::function<Result<Ok>()> ask)
      : fencing_token_(fencing_token), ask_(std::move(ask)) {}

  std::int64_t fencing_token() const { return fencing_token_; }

  /// Reads the file system. For rare, important writes. unsatisfiable names the process that took
  /// over. unavailable: the file system does not answer.
  Result<Ok> check();

  /// Like check(), but at most once a second, for frequent writes. Stays true if the file system
  /// does not answer.
  bool may_write();

  /// Returns the process that took over, if known.
  std::optional<Error> closed() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t fencing_token_ = 0;
  std::function<Result<Ok>()> ask_;
  mutable std::mutex mutex_;
  std::optional<Error> closed_;
  std::optional<Clock::time_point> answered_;  // when the last answered check began
};

}  // namespace dllaunch
