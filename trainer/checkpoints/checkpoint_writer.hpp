// Writes checkpoints while training goes on: a thread, and never more than one checkpoint at a
// time.
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

#include "support/result.hpp"
#include "trainer/checkpoints/checkpoint.hpp"

namespace dllaunch {

struct FinishedWrite {
  std::int64_t epoch = 0;  // complete ones
  std::int64_t step = 0;
  double seconds_blocked = 0;  // by which training stood still for it
  double seconds_total = 0;    // from the beginning of the snapshot until the disk had it all
  std::map<std::string, double> metrics;
  Result<WrittenCheckpoint> written;
};

struct CheckpointWriterOptions {
  std::filesystem::path folder;
  Retention retention = {};
  double bytes_per_s = 0;  // at most, while nobody waits; 0: as fast as it goes
  WriteRight right = {};   // asked by the thread that writes
};

/// For one thread, which trains.
class CheckpointWriter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit CheckpointWriter(CheckpointWriterOptions options) : options_(std::move(options)) {}
  /// Waits for the write that is under way.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  bool busy() const;
  /// Until no write is under way, or for so many seconds; from now on that write is not held back.
  /// Returns whether none is.
  bool wait(std::optional<double> at_most_s = {});
  /// Begins to write; not while busy. `since`: when the snapshot began.
  void begin(Checkpoint checkpoint, Clock::time_point since);
  /// What became of the latest write, once.
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
