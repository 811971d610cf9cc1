// Threads other than the training thread start with all signals blocked, so it handles them all.
#pragma once

#include <pthread.h>

#include <csignal>

namespace dllaunch {

/// Blocks all signals in the calling thread during its lifetime. Threads started meanwhile inherit
/// the mask.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace dllaunch
