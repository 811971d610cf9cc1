// The training loop of one rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/communicators/communicator.hpp"
#include "runtime/timeline/clock_bounds.hpp"
#include "support/result.hpp"
#include "topology/discovery/gpu_inventory.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

struct StepReport {
  std::int64_t epoch = 0;  // 1-based
  std::int64_t step = 0;   // 1-based
  double loss = 0;         // mean over the step's images of all ranks
  double lr = 0;
};

struct TrainOptions {
  PrepareOptions prepare;
  std::optional<int> nodes = {};            // for the start event
  std::filesystem::path bucket_sizes = {};  // file that remembers the best ones; empty: none
  std::string host;
  Say say = [](std::string_view) {};  // hears of progress, on rank 0
  // Where a GPU computes, these read its sensors each period, and `on_gpu_alarm` hears of its
  // errors at once: on a thread of its own that may outlive all else.
  GpuLibraries gpu_libraries = {};
  std::chrono::milliseconds gpu_period{1000};
  std::function<void(const std::string& line)> on_gpu_alarm = {};
  // Hears how this rank's clock stands against rank 0's, at the start and after each epoch.
  std::function<void(const ClockBounds&)> on_clock = [](const ClockBounds&) {};
  // On every rank, after each step and at the beginning of each step:
  std::function<void(const StepReport&)> on_step = [](const StepReport&) {};
  std::function<bool()> stop_requested = [] { return false; };
};

/// taken_over: a later life of the run has its directory.
enum class TrainStatus { completed, cancelled, failed, taken_over };

struct TrainReport {
  TrainStatus status = TrainStatus::completed;
  TrainPosition position;
  // Of failed and taken_over. Its `what` is empty where another rank has the words.
  std::optional<Error> error = {};
};

/// Collective: trains until the configured end, a stop that any rank requests, or a failure. All
/// ranks return the same status. Rank 0 writes events.jsonl and checkpoints, and nothing more once
/// the run's directory was taken over.
///
/// An Error is what prepare() returns: nothing was trained and no checkpoint written.
Result<TrainReport> train(const TrainOptions& options, Communicator& communicator);

}  // namespace dllaunch
