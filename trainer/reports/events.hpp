// Reports of a run while it trains: events.jsonl, CSV, TensorBoard, stragglers, GPU usage.
// Knows nothing about the training loop, and never stops it: a failed write loses a report.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/awake_clock.hpp"
#include "support/result.hpp"
#include "trainer/reports/epoch_gpus.hpp"
#include "trainer/reports/stragglers.hpp"

namespace dllaunch {

struct StartEvent {
  int ranks = 1;
  std::optional<int> nodes = {};  // absent if the launcher of the ranks does not tell
  std::string model = {};
  std::int64_t parameters = 0;
  std::int64_t frozen = 0;  // of the parameters
  std::int64_t global_batch = 0;
  std::int64_t epochs = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t images = 0;
  std::int64_t val_images = 0;
  std::string backend = {};
  std::string host = {};
  std::optional<std::string> init_from = {};  // file of the initial weights
  std::string communicator = {};
  std::optional<std::string> transport = {};  // absent: one rank
};

struct StepEvent {
  std::int64_t epoch = 0;  // 1-based
  std::int64_t step = 0;   // optimiser steps since the start of the run
  double loss = 0;         // mean over the step's images of all ranks
  double lr = 0;
  double images_per_s = 0;
  std::optional<double> tokens_per_s = {};  // where tokens are predicted
};

struct EpochEvent {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  // last step of the epoch
  double loss = 0;
  std::optional<double> accuracy = {};  // for classes
  std::optional<double> val_loss = {};
  std::optional<double> val_accuracy = {};
  std::optional<double> val_top5_accuracy = {};  // with more than five classes
  std::optional<double> val_f1_macro = {};
  std::optional<double> val_f1_micro = {};             // for sets of classes
  std::optional<double> val_mean_absolute_error = {};  // for real numbers, like the next
  std::optional<double> val_mean_squared_error = {};
  std::optional<double> lr = {};  // of its last step; absent if a resumed run found the epoch
                                  // complete
  double seconds = 0;             // including validation
  double images_per_s = 0;        // training images of all ranks per second of training
  std::optional<double> perplexity = {};      // where tokens are predicted, like the next two:
  std::optional<double> val_perplexity = {};  // exp of the mean loss per token
  std::optional<double> tokens_per_s = {};
  std::int64_t images = 0;   // trained images; fewer than the epoch's if resumed within it
  std::int64_t skipped = 0;  // bad images, including validation
  std::optional<double> loss_scale = {};  // fp16 only, after the last step
  std::int64_t skipped_steps = 0;         // fp16 only: steps with overflowed gradients
};

struct CheckpointEvent {
  std::string path = {};
  std::int64_t epoch = 0;  // completed epochs
  std::int64_t step = 0;
  double seconds_blocked = 0;
  double seconds_total = 0;
  std::uint64_t bytes = 0;
};

struct CheckpointFailedEvent {
  std::int64_t epoch = 0;  // completed epochs
  std::int64_t step = 0;
  std::string why = {};
};

struct StallEvent {
  std::string state = {};            // late | over | gave up | died
  std::vector<int> late_ranks = {};  //
  std::string collective = {};       // empty: none
  double seconds = 0;                // waited by the other ranks
  std::string line = {};             // the same as a log line
};

/// Replicas that hold other numbers than each other.
struct CorruptedEvent {
  std::int64_t step = 0;
  std::int64_t since = 0;               // last step that all agreed on
  std::vector<std::string> what = {};   // weights | states | gradients
  std::string how = {};                 // majority | recomputed | pending | unknown
  std::vector<int> ranks = {};          // whose numbers are wrong; empty: not known
  std::vector<std::string> hosts = {};  // of these
  std::string line = {};                // the same as a log line
};

/// Appends one line per event with a single write(2). NaN and infinity become null. After an I/O
/// error training continues; the loss is reported once on stderr.
class EventLog {
 public:
  /// Discards everything; for ranks other than 0.
  EventLog() = default;
  /// `fencing_token` identifies this incarnation of the run in every line; 0: none. unavailable:
  /// the file cannot be opened for appending.
  static Result<EventLog> open(const std::filesystem::path& file, std::int64_t fencing_token = 0);

  EventLog(EventLog&& other) noexcept;
  EventLog& operator=(EventLog&& other) noexcept;
  ~EventLog();

  void start(const StartEvent& event);
  void step(const StepEvent& event);
  void epoch(const EpochEvent& event);
  /// How ranks spent the epoch: quantiles over ranks and at most eight of the slowest ranks.
  void ranks(std::int64_t epoch, const EpochRanks& event);
  /// GPU usage in the epoch; nothing without GPUs.
  void gpus(std::int64_t epoch, const EpochGpus& event);
  void checkpoint(const CheckpointEvent& event);
  void checkpoint_failed(const CheckpointFailedEvent& event);
  /// A damaged checkpoint that the resume skipped.
  void checkpoint_refused(std::string_view path, std::string_view why);
  /// `step` is the step of that checkpoint.
  void restart(std::string_view reason, std::string_view from, std::int64_t step);
  void stall(const StallEvent& event);
  /// The job was suspended or stopped. step() and epoch() write it themselves.
  void pause(double seconds);
  void corrupted(const CorruptedEvent& event);
  void end(std::string_view status, double seconds);

 private:
  class Line;
  void append(Line& line);
  void note_pause();

  int file_ = -1;
  std::int64_t fencing_token_ = 0;
  /// Unix time of an event = this + the steady clock. So the difference of two events of one
  /// incarnation is the elapsed time, even if the wall clock is set in between.
  double clock_offset_ = 0;
  AwakeClock::duration paused_ = AwakeClock::paused();  // that is in the file
  bool torn_ = false;                                   // the file ends within a line
  bool refused_ = false;                                // already reported
};

}  // namespace dllaunch
