// The training loop of one rank, and everything that runs around it: checkpoints, reports, signals.
// Knows nothing about kernels or collectives' algorithms: backends and communicators do.
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
#include "trainer/integrity/drill.hpp"
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
  std::string transport = {};               // tcp | mpi, likewise; empty: one rank
  std::filesystem::path bucket_sizes = {};  // file that remembers the best sizes; empty: none
  std::string host;
  Say say = [](std::string_view) {};  // receives progress, on rank 0
  // Read the sensors of a GPU at this period. `on_gpu_alarm` receives its errors at once, on a
  // thread that may outlive everything else.
  GpuLibraries gpu_libraries = {};
  std::chrono::milliseconds gpu_period{1000};
  std::function<void(const std::string& line)> on_gpu_alarm = {};
  std::optional<Drill> drill = {};  // of runtime.integrity
  // Receives this rank's clock offset from rank 0, at the start and after each epoch.
  std::function<void(const ClockBounds&)> on_clock = [](const ClockBounds&) {};
  // On every rank, after each step and at the start of each step:
  std::function<void(const StepReport&)> on_step = [](const StepReport&) {};
  std::function<bool()> stop_requested = [] { return false; };
};

/// taken_over: a later incarnation owns the run directory.
enum class TrainStatus { completed, cancelled, failed, taken_over };

struct TrainReport {
  TrainStatus status = TrainStatus::completed;
  TrainPosition position;
  // If failed or taken_over. Its `what` is empty if another rank reports it.
  std::optional<Error> error = {};
};

/// Collective. Trains to the configured end, until any rank requests a stop, or until a failure.
/// All ranks return the same status. Rank 0 writes events.jsonl and checkpoints until the run
/// directory is taken over.
///
/// An Error comes from prepare(): nothing was trained and no checkpoint written.
Result<TrainReport> train(const TrainOptions& options, Communicator& communicator);

}  // namespace dllaunch
