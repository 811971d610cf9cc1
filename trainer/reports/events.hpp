// events.jsonl: what happens in a run, for the launcher and for people with jq.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "trainer/reports/epoch_gpus.hpp"
#include "trainer/reports/stragglers.hpp"

namespace dllaunch {

struct StartEvent {
  int ranks = 1;
  std::optional<int> nodes = {};  // absent where the launcher of the ranks does not say
  std::string model = {};
  std::int64_t parameters = 0;
  std::int64_t frozen = 0;  // of them
  std::int64_t global_batch = 0;
  std::int64_t epochs = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t images = 0;
  std::int64_t val_images = 0;
  std::string backend = {};
  std::string host = {};
  std::optional<std::string> init_from = {};  // file of its first weights
};

struct StepEvent {
  std::int64_t epoch = 0;  // 1-based, as people count
  std::int64_t step = 0;   // optimiser steps done since the beginning of the run
  double loss = 0;         // mean over the step's images of all ranks
  double lr = 0;
  double images_per_s = 0;
};

struct EpochEvent {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  // its last one
  double loss = 0;
  std::optional<double> accuracy = {};  // of classes
  std::optional<double> val_loss = {};
  std::optional<double> val_accuracy = {};
  std::optional<double> val_top5_accuracy = {};  // of more than five classes
  std::optional<double> val_f1_macro = {};
  std::optional<double> val_f1_micro = {};             // of sets of classes
  std::optional<double> val_mean_absolute_error = {};  // of real numbers, as the next
  std::optional<double> val_mean_squared_error = {};
  std::optional<double> lr = {};  // of its last step; absent where a resume found it done
  double seconds = 0;             // validation included
  double images_per_s = 0;        // training images of all ranks over the seconds of training
  std::int64_t images = 0;        // those: fewer than the epoch's where a resume began within it
  std::int64_t skipped = 0;       // bad images, validation's included
  std::optional<double> loss_scale = {};  // of fp16, after its last step
  std::int64_t skipped_steps = 0;         // of fp16: gradients overflowed
};

struct CheckpointEvent {
  std::string path = {};
  std::int64_t epoch = 0;  // complete ones
  std::int64_t step = 0;
  double seconds_blocked = 0;
  double seconds_total = 0;
  std::uint64_t bytes = 0;
};

struct CheckpointFailedEvent {
  std::int64_t epoch = 0;  // complete ones
  std::int64_t step = 0;
  std::string why = {};
};

struct StallEvent {
  std::string state = {};            // late | over | gave up | died
  std::vector<int> late_ranks = {};  //
  std::string collective = {};       // empty: none
  double seconds = 0;                // that the others have waited
  std::string line = {};             // the same for people
};

/// Appends one line per event, whole, with one write(2). Numbers that JSON lacks become null.
/// When the file system refuses, training goes on and the loss is said once on stderr.
class EventLog {
 public:
  /// A log that keeps nothing: every rank but 0 has one.
  EventLog() = default;
  /// `generation`: of this life of the run, written into every line; 0: none.
  /// unavailable: the file cannot be opened for appending.
  static Result<EventLog> open(const std::filesystem::path& file, std::int64_t generation = 0);

  EventLog(EventLog&& other) noexcept;
  EventLog& operator=(EventLog&& other) noexcept;
  ~EventLog();

  void start(const StartEvent& event);
  void step(const StepEvent& event);
  void epoch(const EpochEvent& event);
  /// What ranks did with the epoch: quantiles over ranks and the eight that lost most, however many
  /// there are.
  void ranks(std::int64_t epoch, const EpochRanks& event);
  /// How their GPUs were in it; nothing where there are none.
  void gpus(std::int64_t epoch, const EpochGpus& event);
  void checkpoint(const CheckpointEvent& event);
  void checkpoint_failed(const CheckpointFailedEvent& event);
  /// A checkpoint that is not sound, and so was passed over by the resume.
  void checkpoint_refused(std::string_view path, std::string_view why);
  /// `step`: the one of that checkpoint.
  void restart(std::string_view reason, std::string_view from, std::int64_t step);
  void stall(const StallEvent& event);
  void end(std::string_view status, double seconds);

 private:
  class Line;
  void append(Line& line);

  int file_ = -1;
  std::int64_t generation_ = 0;
  /// Unix seconds of an event = this + the steady clock: the difference of two events of one life
  /// is the time that passed, also where an administrator or NTP sets the wall clock in between.
  double clock_offset_ = 0;
  bool torn_ = false;     // the file ends within a line
  bool refused_ = false;  // said already
};

}  // namespace dllaunch
