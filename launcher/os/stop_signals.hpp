// Counts SIGINT, SIGTERM and SIGHUP, to be polled.
#pragma once

#include <csignal>

#include <array>
#include <chrono>

namespace dllaunch {

/// These signals only count while an instance exists. Only one may exist: signal handlers are per
/// process.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// The number of signals so far.
  int count() const;
  /// The first signal; 0: none. A stopped dllaunch exits with 128 + this.
  int first() const;
  /// The latest signal; 0: none.
  int latest() const;

  /// Sleeps for `limit`, or until the next signal, or until `fd` is readable (-1: none).
  void wait(std::chrono::milliseconds limit, int fd = -1) const;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace dllaunch
