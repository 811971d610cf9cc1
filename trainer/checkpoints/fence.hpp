// Whether this process may still write into its run's directory, or a later life of the run has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "runtime/rank/run_ownership.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// For several threads. Once closed it stays so.
class Fence {
 public:
  /// Never closes: nobody gave this life a generation.
  Fence() = default;
  explicit Fence(RunOwnership lease) : lease_(std::move(lease)) {}

  std::int64_t generation() const { return lease_ ? lease_->generation() : 0; }

  /// Asks the file system: for what is written seldom and weighs much.
  /// unsatisfiable: taken over, by whom. unavailable: it does not tell.
  Result<Ok> check();

  /// The same, at most once a second: for what is written often. A file system that does not tell
  /// closes nothing.
  bool may_write();

  /// Who took over, if that is known.
  std::optional<Error> closed() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<RunOwnership> lease_;
  mutable std::mutex mutex_;
  std::optional<Error> closed_;
  std::optional<Clock::time_point> asked_;
};

}  // namespace dllaunch
