// What a run came to: summary.json and the block printed at its end.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/run/events.hpp"
#include "launcher/run/history.hpp"
#include "support/json.hpp"

namespace dllaunch {

enum class RunStatus { completed, failed, cancelled, timeout, preempted, node_fail, out_of_memory };
std::string_view to_string(RunStatus status);

/// Adds up a run's events: those that count (history.hpp).
class RunTotals {
 public:
  /// Whether the event counts; nobody shows one that does not.
  bool take(const Event& event);

  /// What an earlier run in this directory achieved; its times do not count.
  void recall(const Event& event);

  const History& history() const { return history_; }
  /// Epochs finished, those of earlier runs in the directory included. Falls, as val_accuracy()
  /// does, when an incarnation goes on from an earlier checkpoint.
  std::int64_t epochs() const { return epochs_.empty() ? 0 : epochs_.back().epoch; }
  int restarts() const { return history_.restart_count(); }
  std::optional<double> val_accuracy() const {
    return epochs_.empty() ? std::nullopt : epochs_.back().val_accuracy;
  }
  const std::string& end_status() const { return end_status_; }
  /// The last thing said of a stall or a death that is not over; nothing: all went on.
  const std::optional<StallEvent>& stall() const { return stall_; }
  int stalls() const { return stalls_; }
  /// Checkpoints that the newest start passed over, at most eight.
  const std::vector<CheckpointRefusedEvent>& refused() const { return refused_; }
  bool ended() const { return !end_status_.empty(); }
  bool trained() const { return steps_ > 0; }

  /// Useful step time over wall time, 0 .. 1; the definition stands in history.hpp. `wall_seconds`:
  /// without the queue; where it is less than what the events span, it is that, up to
  /// `most_seconds`: the clocks of two incarnations' nodes may differ by years. Nothing without a
  /// step.
  std::optional<double> goodput(double wall_seconds, double most_seconds = no_bound) const;
  static constexpr double no_bound = std::numeric_limits<double>::infinity();

  /// Training images of all ranks over the seconds of training, over the epochs but the first after
  /// each start, which pays for compiling, first reads and tuning. Where there are no others, over
  /// those; without an epoch over the steps, weighted by the time each covers.
  std::optional<double> images_per_s() const;
  bool first_epoch_excluded() const { return later_epochs_.seconds > 0; }

  /// Seconds spent in training steps (data, forward, backward, reduction, update) that count: for
  /// every step event the time since the event before it. Start-up and validation end with events
  /// of their own and so do not count. A checkpoint tells of itself once it is written, some steps
  /// later: what it stopped is taken off then.
  double step_seconds() const { return history_.step_seconds(); }

 private:
  void finish_epoch(const EpochEvent& event);
  void forget_lost_epochs();

  struct FinishedEpoch {
    std::int64_t epoch = 0;
    std::int64_t step = 0;               // its last one; 0: an older trainer did not say
    std::optional<double> val_accuracy;  // its own, or the latest before
  };
  static constexpr std::size_t most_epochs = 4096;  // remembered, the newest

  History history_;
  std::vector<FinishedEpoch> epochs_;
  std::int64_t steps_ = 0;  // step events
  std::string end_status_;
  std::optional<StallEvent> stall_;
  int stalls_ = 0;
  std::vector<CheckpointRefusedEvent> refused_;
  double step_images_ = 0;    // of step events, whether lost later or not
  double image_seconds_ = 0;  // in which they were trained on
  struct Work {
    double images = 0;
    double seconds = 0;  // of training
  };
  Work first_epochs_;  // after each start of the trainer
  Work later_epochs_;
  bool first_epoch_comes_ = true;
};

/// How many tasks of an array ended how; empty: no array.
using TaskCounts = std::map<RunStatus, int>;

struct Summary {
  RunStatus status = RunStatus::completed;
  double seconds = 0;                        // wall time, queue excluded
  std::optional<double> queue_seconds = {};  // absent locally
  int ranks = 1;                             // of an array in each task
  TaskCounts tasks = {};
  std::optional<std::int64_t> epochs = {};  // absent with `run:`
  std::optional<double> images_per_s = {};
  bool first_epoch_excluded = false;  // from images_per_s
  std::optional<double> val_accuracy = {};
  int restarts = 0;
  int stalls = 0;                          // times that ranks kept the others waiting
  std::optional<double> goodput = {};      // useful step time / wall time, 0 .. 1: history.hpp
  std::int64_t lost_steps = 0;             // by restarts, in all
  double lost_seconds = 0;                 // step time of them
  std::vector<Restart> restart_list = {};  // the newest
  std::string reason = {};                 // one sentence; empty when completed
  std::string first_error = {};            // "rank 3 on n2: ValueError: bad"; empty: none was found
  std::string advice = {};                 // what to change; empty: nobody knows
};

/// `seconds`, `most_seconds`: as in RunTotals::goodput.
Summary summarize(const RunTotals& totals, RunStatus status, double seconds, int ranks,
                  double most_seconds = RunTotals::no_bound);

/// contract.md "summary.json"; of a run that did not complete also why.
Json to_json(const Summary& summary);

/// Where to look and what to do next, for people.
struct SummaryPlaces {
  std::string run_dir = {};
  std::string checkpoint = {};  // newest; empty: none
  std::string next = {};        // the command that goes on; empty: none
};

/// "5,245 images/s (first epoch excluded)".
std::string throughput(double images_per_s, bool first_epoch_excluded);

std::string render_summary(const Summary& summary, const SummaryPlaces& places);

}  // namespace dllaunch
