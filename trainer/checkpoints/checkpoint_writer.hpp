// Writes checkpoints in a background thread, one at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "support/awake_clock.hpp"
#include "support/result.hpp"
#include "trainer/checkpoints/checkpoint.hpp"

namespace dllaunch {

struct FinishedWrite {
  std::int64_t epoch = 0;  // completed epochs
  std::int64_t step = 0;
  double seconds_blocked = 0;  // how long training was blocked
  double seconds_total = 0;    // from the start of the snapshot until everything is on disk
  std::map<std::string, double> metrics;
  Result<WrittenCheckpoint> written;
};

struct CheckpointWriterOptions {
  std::filesystem::path folder;
  Retention retention = {};
  double bytes_per_s = 0;  // rate limit while training does not wait; 0: none
  WriteRight right = {};   // checked by the writer thread
};

/// Used by one thread, the training thread.
class CheckpointWriter {
 public:
  using Clock = AwakeClock;

  explicit CheckpointWriter(CheckpointWriterOptions options) : options_(std::move(options)) {}
  /// Waits for the write in progress.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  bool busy() const;
  /// Waits until no write is in progress, or for at most this long. Lifts the rate limit of that
  /// write. Returns whether no write is in progress.
  bool wait(std::optional<double> at_most_s = {});
  /// Starts a write. Must not be busy. `since` is when the snapshot began.
  void begin(Checkpoint checkpoint, Clock::time_point since);
  /// Returns the result of the latest write, once.
  std::optional<FinishedWrite> take();

 private:
  Result<WrittenCheckpoint> write(Checkpoint checkpoint);

  CheckpointWriterOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  bool hurried_ = false;
  std::optional<FinishedWrite> finished_;
  std::thread thread_;
};

}  // namespace dllaunch
