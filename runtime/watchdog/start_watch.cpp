#include "runtime/watchdog/start_watch.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "support/all_signals_blocked.hpp"
#include "support/awake_clock.hpp"

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
  const auto begin = AwakeClock::now();
  double next_s = options_.stall_seconds;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const double until_s = std::min(next_s, options_.stall_abort_seconds);
    const auto until =
        begin + std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(until_s));
    for (auto now = begin; !has_started_ && now < until; now = AwakeClock::now()) {
      const auto limit = std::min<AwakeClock::duration>(std::chrono::seconds(1), until - now);
      const AwakeClock::Wait wait(limit);
      started_.wait_for(lock, limit, [this] { return has_started_; });
    }
    if (has_started_) return;
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
