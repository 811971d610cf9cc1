// Events of a run: the lines of events.jsonl in its directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/os/line_tail.hpp"

namespace dllaunch {

/// In all events, `time` is Unix seconds and `fencing_token` is that of the writing incarnation (0:
/// none; runtime/rank/run_ownership.hpp). An absent optional was null or missing.
struct StartEvent {
  double time = 0;
  std::optional<std::int64_t> ranks = {};
  std::optional<std::int64_t> nodes = {};
  std::string model = {};
  std::optional<std::int64_t> parameters = {};
  std::optional<std::int64_t> frozen = {};           // of the parameters
  std::optional<std::int64_t> global_batch = {};     // images
  std::optional<std::int64_t> epochs = {};           // in total, including earlier runs
  std::optional<std::int64_t> steps_per_epoch = {};  // optimiser steps
  std::string communicator = {};
  std::string init_from = {};  // file of the initial weights
  std::int64_t fencing_token = 0;
};

struct StepEvent {
  double time = 0;
  std::int64_t epoch = 0;  // 1-based
  std::int64_t step = 0;   // 1-based, over the whole training
  std::optional<double> loss = {};
  std::optional<double> accuracy = {};
  std::optional<double> lr = {};
  std::optional<double> images_per_s = {};
  std::optional<double> tokens_per_s = {};  // where tokens are predicted
  std::int64_t fencing_token = 0;
};

struct EpochEvent {
  double time = 0;
  std::int64_t epoch = 0;
  std::optional<double> loss = {};
  std::optional<double> accuracy = {};
  std::optional<double> val_loss = {};
  std::optional<double> val_accuracy = {};
  std::optional<double> seconds = {};
  std::optional<double> images_per_s = {};
  std::optional<double> tokens_per_s = {};    // where tokens are predicted, like the next
  std::optional<double> val_perplexity = {};  //
  std::optional<double> images = {};          // trained on by this process; older trainers: absent
  std::optional<std::int64_t> step = {};      // its last step
  std::int64_t fencing_token = 0;
};

struct RanksEvent {
  double time = 0;
  std::int64_t epoch = 0;
  std::vector<std::string> notes = {};  // about ranks that were late
  std::int64_t fencing_token = 0;
};

struct CheckpointEvent {
  double time = 0;
  std::string path = {};
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::optional<double> seconds_blocked = {};
  std::optional<double> seconds_total = {};
  std::optional<std::int64_t> bytes = {};
  std::int64_t fencing_token = 0;
};

struct CheckpointFailedEvent {
  double time = 0;
  std::int64_t step = 0;
  std::string why = {};
  std::int64_t fencing_token = 0;
};

/// The resume skipped a damaged checkpoint.
struct CheckpointRefusedEvent {
  double time = 0;
  std::string path = {};
  std::string why = {};
  std::int64_t fencing_token = 0;
};

struct RestartEvent {
  double time = 0;
  std::string reason = {};
  std::string from = {};                     // checkpoint; empty: from the beginning
  std::optional<std::int64_t> step = {};     // of that checkpoint
  std::optional<double> queue_seconds = {};  // time pending in Slurm's queue
  std::int64_t fencing_token = 0;
};

struct StallEvent {
  double time = 0;
  // late | over | gave up | died; empty: an older trainer, which reports only late
  std::string state = {};
  std::vector<std::int64_t> late_ranks = {};
  std::string collective = {};
  std::optional<double> seconds = {};
  std::string line = {};  // full message, human-readable; empty: an older trainer
  std::int64_t fencing_token = 0;
};

/// The job was suspended before the next event: no work was possible.
struct PauseEvent {
  double time = 0;
  double seconds = 0;
  std::int64_t fencing_token = 0;
};

struct EndEvent {
  double time = 0;
  std::string status = {};
  std::optional<double> seconds = {};
  std::int64_t fencing_token = 0;
};

using Event = std::variant<StartEvent, StepEvent, EpochEvent, RanksEvent, CheckpointEvent,
                           CheckpointFailedEvent, CheckpointRefusedEvent, RestartEvent, StallEvent,
                           PauseEvent, EndEvent>;

double time_of(const Event& event);
std::int64_t fencing_token_of(const Event& event);

/// Returns the event; nullopt for a line that is not a JSON object, lacks `time` or `event`, or
/// names an unknown event. A newer trainer or a line cut by a crash must not stop a follower.
std::optional<Event> parse_event(std::string_view line);

/// Returns the line, with newline, that announces a restart in events.jsonl before the new
/// incarnation begins.
std::string restart_line(const RestartEvent& event);

/// Returns events appended since the last call.
class EventTail {
 public:
  explicit EventTail(std::string path, std::uint64_t from = 0) : lines_(std::move(path), from) {}

  std::vector<Event> read();
  /// Discards an unfinished line.
  void drop_rest() { lines_.take_rest(); }

 private:
  LineTail lines_;
};

}  // namespace dllaunch
