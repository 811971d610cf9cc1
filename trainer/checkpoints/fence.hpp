// Whether this process may still write to its run directory, or a later incarnation has taken it
// over.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "runtime/rank/run_ownership.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Thread-safe. Once closed, stays closed.
class Fence {
 public:
  /// Always open: this incarnation has no fencing token.
  Fence() = default;
  explicit Fence(RunOwnership ownership) : ownership_(std::move(ownership)) {}

  std::int64_t fencing_token() const { return ownership_ ? ownership_->fencing_token() : 0; }

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

  std::optional<RunOwnership> ownership_;
  mutable std::mutex mutex_;
  std::optional<Error> closed_;
  std::optional<Clock::time_point> asked_;
};

}  // namespace dllaunch
