#include "launcher/os/stop_signals.hpp"

#include <poll.h>

#include <array>

namespace dllaunch {
namespace {

constexpr std::array<int, 3> watched = {SIGINT, SIGTERM, SIGHUP};

// A signal handler reaches only globals.
volatile std::sig_atomic_t signals_seen = 0;
volatile std::sig_atomic_t first_signal = 0;
volatile std::sig_atomic_t latest_signal = 0;

void count_signal(int signal) {
  if (first_signal == 0) first_signal = signal;
  latest_signal = signal;
  signals_seen = signals_seen + 1;
}

}  // namespace

StopSignals::StopSignals() {
  signals_seen = 0;
  first_signal = 0;
  latest_signal = 0;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    sigaction(watched[i], nullptr, &before_[i]);
    // Respect nohup. Handle SIGINT even if a script's `&` made us ignore it: a SIGINT sent to this
    // process is meant for it.
    if (watched[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction counting {};
    counting.sa_handler = count_signal;
    sigemptyset(&counting.sa_mask);
    counting.sa_flags = 0;  // no SA_RESTART: a signal must interrupt the sleep
    sigaction(watched[i], &counting, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < watched.size(); ++i) sigaction(watched[i], &before_[i], nullptr);
}

int StopSignals::count() const {
  return signals_seen;
}

int StopSignals::first() const {
  return first_signal;
}

int StopSignals::latest() const {
  return latest_signal;
}

void StopSignals::wait(std::chrono::milliseconds limit, int fd) const {
  pollfd awaited = {.fd = fd, .events = POLLIN, .revents = 0};
  poll(&awaited, 1, static_cast<int>(limit.count()));
}

}  // namespace dllaunch
