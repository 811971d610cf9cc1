// SIGINT, SIGTERM and SIGHUP as something to ask for between two looks at a job.
#pragma once

#include <csignal>

#include <array>
#include <chrono>

namespace dllaunch {

/// While one lives, these signals only count. One at a time: the handlers are the process's.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// How many came so far.
  int count() const;
  /// The first that came, 0: none. The exit code of a stopped dllaunch is 128 + this.
  int first() const;

  /// Sleeps, but no longer than until the next signal.
  void wait(std::chrono::milliseconds limit) const;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace dllaunch
