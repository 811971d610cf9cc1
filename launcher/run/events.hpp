// What a run tells while it runs: the lines of events.jsonl (contract.md "A run's directory").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/os/line_tail.hpp"

namespace dllaunch {

/// `time` is Unix seconds in all of them, `fencing_token` that of the incarnation that wrote it (0:
/// it has none; runtime/rank/run_ownership.hpp). An absent optional was null or missing.
struct StartEvent {
  double time = 0;
  std::optional<std::int64_t> ranks = {};
  std::optional<std::int64_t> nodes = {};
  std::string model = {};
  std::optional<std::int64_t> parameters = {};
  std::optional<std::int64_t> frozen = {};           // of them
  std::optional<std::int64_t> global_batch = {};     // images
  std::optional<std::int64_t> epochs = {};           // in all, earlier runs included
  std::optional<std::int64_t> steps_per_epoch = {};  // optimiser steps
  std::string init_from = {};                        // file of its first weights
  std::int64_t fencing_token = 0;
};

struct StepEvent {
  double time = 0;
  std::int64_t epoch = 0;  // 1-based
  std::int64_t step = 0;   // 1-based, counted over the whole training
  std::optional<double> loss = {};
  std::optional<double> accuracy = {};
  std::optional<double> lr = {};
  std::optional<double> images_per_s = {};
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
  std::optional<double> images = {};  // trained on in it by this process; older trainers: absent
  std::optional<std::int64_t> step = {};  // its last one
  std::int64_t fencing_token = 0;
};

struct RanksEvent {
  double time = 0;
  std::int64_t epoch = 0;
  std::vector<std::string> notes = {};  // on ranks that were late
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

/// The resume passed over a checkpoint that is not sound.
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
  std::optional<double> queue_seconds = {};  // that the run waited for Slurm
  std::int64_t fencing_token = 0;
};

struct StallEvent {
  double time = 0;
  std::string state = {};  // late | over | gave up | died; empty: a trainer that knows only late
  std::vector<std::int64_t> late_ranks = {};
  std::string collective = {};
  std::optional<double> seconds = {};
  std::string line = {};  // the whole of it for people; empty: an older trainer
  std::int64_t fencing_token = 0;
};

struct EndEvent {
  double time = 0;
  std::string status = {};
  std::optional<double> seconds = {};
  std::int64_t fencing_token = 0;
};

using Event =
    std::variant<StartEvent, StepEvent, EpochEvent, RanksEvent, CheckpointEvent,
                 CheckpointFailedEvent, CheckpointRefusedEvent, RestartEvent, StallEvent, EndEvent>;

double time_of(const Event& event);
std::int64_t fencing_token_of(const Event& event);

/// Nothing for a line that is no JSON object, lacks `time` or `event`, or names an event this
/// version does not know: a newer trainer, or a line cut by a crash, must not stop a follower.
std::optional<Event> parse_event(std::string_view line);

/// The line, newline included, by which whoever restarts a run says so in events.jsonl before the
/// new incarnation begins.
std::string restart_line(const RestartEvent& event);

/// The events that were appended since the last look.
class EventTail {
 public:
  explicit EventTail(std::string path, std::uint64_t from = 0) : lines_(std::move(path), from) {}

  std::vector<Event> read();
  /// Forgets the beginning of a line that its writer never ended.
  void drop_rest() { lines_.take_rest(); }

 private:
  LineTail lines_;
};

}  // namespace dllaunch
