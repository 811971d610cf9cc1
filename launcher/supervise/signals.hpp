// The signals a supervisor handles, as a descriptor to wait on together with its child.
#pragma once

#include <csignal>

#include <vector>

namespace dllaunch {

/// While an instance exists, the signals are blocked and queued for take(): "save now" (`ask`),
/// TERM, INT and HUP. SIGCHLD only wakes the waiter.
class SupervisorSignals {
 public:
  /// `ask`: 0 for none.
  explicit SupervisorSignals(int ask);
  SupervisorSignals(const SupervisorSignals&) = delete;
  SupervisorSignals& operator=(const SupervisorSignals&) = delete;
  ~SupervisorSignals();

  /// Readable when a signal has arrived.
  int fd() const { return fd_; }
  /// Returns the signals since the last call, without SIGCHLD.
  std::vector<int> take() const;

 private:
  int fd_ = -1;
  sigset_t before_{};
};

}  // namespace dllaunch
