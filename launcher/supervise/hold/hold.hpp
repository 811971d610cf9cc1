// Keeps an allocation whose ranks have failed, until someone asks for another start.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launcher/run/run_dir.hpp"
#include "launcher/supervise/hold/retry_order.hpp"
#include "launcher/supervise/storage.hpp"
#include "runtime/rank/run_ownership.hpp"

namespace dllaunch {

/// Without any of these, its time was over.
struct HoldEnd {
  std::optional<RetryOrder> order = {};
  std::optional<int> signal = {};  // that arrived
  std::string lost = {};           // what took over the run
  bool away = false;               // its directory is none, or another: nothing was written there
};

/// Waits until `until`. `wait` sleeps that long, or returns a signal that arrives. A retry that
/// comes after the return is told that it is too late, unless the directory is away.
HoldEnd hold_for_retry(const RunDir& run, const RunStorage& storage, const RunOwnership& ownership,
                       std::chrono::steady_clock::time_point until,
                       const std::function<std::optional<int>(std::chrono::milliseconds)>& wait);

}  // namespace dllaunch
