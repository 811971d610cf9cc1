// What a run's events say over time: its curves, its starts, its GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/run/events.hpp"
#include "launcher/run/history.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// One start of the trainer: an incarnation whose events count.
struct RunStart {
  double from_s = 0;  // Unix seconds of its first event
  double to_s = 0;    // of its last one
};

struct RunSeries {
  std::optional<StartEvent> start = {};  // the newest
  std::vector<StepEvent> steps = {};     // that count (history.hpp), at most most_steps
  std::int64_t steps_recorded = 0;       // step events that count
  std::vector<EpochEvent> epochs = {};   // that count
  std::vector<Json> gpus = {};           // `gpus` events, as the trainer wrote them
  Json ranks = {};                       // the last `ranks` event that counts; null: none
  std::vector<RunStart> starts = {};     // at least one, if anything counts
  std::int64_t starts_left_out = 0;      // beyond most_starts: the oldest
  History history = {};

  /// Of more steps, every second, fourth, eighth ... is kept.
  static constexpr std::size_t most_steps = 8192;
  static constexpr std::size_t most_starts = History::most_restarts + 1;
};

/// Reads events.jsonl from its beginning; what cannot be read is left out. Memory is bounded,
/// except for one record per epoch.
RunSeries read_series(const std::string& events_path);

}  // namespace dllaunch
