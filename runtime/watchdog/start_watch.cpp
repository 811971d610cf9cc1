#include "runtime/watchdog/start_watch.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "support/all_signals_blocked.hpp"

namespace dllaunch {

StartWatch::StartWatch(StartWatchOptions options) : options_(std::move(options)) {
  const AllSignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

StartWatch::~StartWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_started_ = true;
  }
  started_.notify_all();
  thread_.join();
}

void StartWatch::run() {
  ::prctl(PR_SET_NAME, "start watch");
  using Seconds = std::chrono::duration<double>;
  const auto begin = std::chrono::steady_clock::now();
  double next_s = options_.stall_seconds;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const double until_s = std::min(next_s, options_.stall_abort_seconds);
    const bool started = started_.wait_until(
        lock, begin + std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(until_s)),
        [this] { return has_started_; });
    if (started) return;
    if (until_s >= options_.stall_abort_seconds) {
      options_.give_up(
          fmt::format("not all ranks have started within {:.0f} s "
                      "(runtime.stall_abort_seconds)",
                      until_s));
      return;
    }
    if (options_.say) {
      options_.say(
          fmt::format("stall: has waited {:.0f} s for all ranks to start (MPI_Init)", until_s));
    }
    next_s *= 2;
  }
}

}  // namespace dllaunch
