// Totals of a run's events for a page that polls. Each event is read once, in bounded pieces.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>

#include "launcher/os/line_tail.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/run/summary.hpp"

namespace dllaunch {

class EventTotals {
 public:
  /// Number of runs whose totals are kept.
  static constexpr std::size_t most_runs = 4;
  /// Bytes read per call.
  static constexpr std::size_t most_bytes = 4 << 20;

  /// Returns the totals; nullopt until all events have been read. Thread-safe.
  std::optional<RunTotals> of(const StoredRun& run);

 private:
  struct Kept {
    std::string path;
    double began_at_s;
    LineTail lines;
    RunTotals totals = {};
  };

  std::mutex mutex_;
  std::list<Kept> kept_;  // most recently used first
};

}  // namespace dllaunch
