// Tracks a run's progress from the growth of its events file, with bounded work per poll and
// bounded memory per run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "launcher/monitor/run_state.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/run/history.hpp"

namespace dllaunch {

class EventWatch {
 public:
  /// Reads at most this much per call; if the file grew by more, only its end.
  static constexpr std::size_t most_bytes = 65536;

  /// Ignores events before `from_s` (Unix seconds), which belong to an earlier job.
  EventWatch(std::string path, double from_s) : path_(std::move(path)), from_s_(from_s) {}

  /// Returns whether there was something new.
  bool look();
  const RunProgress& progress() const { return progress_; }

 private:
  std::string path_;
  double from_s_;
  std::optional<LineTail> tail_;
  std::uint64_t size_ = 0;  // at the last poll
  History history_;         // counts each step once across incarnations
  RunProgress progress_;
};

}  // namespace dllaunch
