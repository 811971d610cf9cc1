// What a run came to: summary.json and the block printed at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "launcher/events.hpp"

namespace dllaunch {

enum class RunStatus { completed, failed, cancelled, timeout, preempted, node_fail, out_of_memory };
std::string_view to_string(RunStatus status);

/// Adds up a run's events.
class RunLedger {
 public:
  void take(const Event& event);

  /// What an earlier run in this directory achieved; its times do not count.
  void recall(const Event& event);

  /// Epochs finished, those of earlier runs in the directory included.
  std::int64_t epochs() const { return epochs_; }
  int restarts() const { return restarts_; }
  std::optional<double> val_accuracy() const { return val_accuracy_; }
  const std::string& end_status() const { return end_status_; }
  /// The last thing said of a stall or a death that is not over; nothing: all went on.
  const std::optional<StallEvent>& stall() const { return stall_; }
  int stalls() const { return stalls_; }
  bool ended() const { return !end_status_.empty(); }
  bool trained() const { return steps_ > 0; }

  /// Training images of all ranks over the seconds of training, over the epochs but the first after
  /// each start, which pays for compiling, first reads and tuning. Where there are no others, over
  /// those; without an epoch over the steps, weighted by the time each covers.
  std::optional<double> images_per_s() const;
  bool first_epoch_excluded() const { return later_epochs_.seconds > 0; }

  /// Seconds spent in training steps (data, forward, backward, reduction, update): for every step
  /// event the time since the event before it. Start-up and validation end with events of their own
  /// and so do not count. A checkpoint tells of itself once it is written, some steps later: what
  /// it stopped is taken off then.
  double step_seconds() const { return step_seconds_; }

 private:
  std::int64_t epochs_ = 0;
  std::int64_t steps_ = 0;  // step events
  int restarts_ = 0;
  std::optional<double> val_accuracy_;
  std::string end_status_;
  std::optional<StallEvent> stall_;
  int stalls_ = 0;
  double last_time_ = 0;  // of the event before; 0: none
  double step_seconds_ = 0;
  double blocked_seconds_ = 0;  // by checkpoints, not yet taken off
  double step_images_ = 0;
  struct Work {
    double images = 0;
    double seconds = 0;  // of training
  };
  Work first_epochs_;  // after each start of the trainer
  Work later_epochs_;
  bool first_epoch_comes_ = true;
};

struct Summary {
  RunStatus status = RunStatus::completed;
  double seconds = 0;                        // wall time, queue excluded
  std::optional<double> queue_seconds = {};  // absent locally
  int ranks = 1;
  std::optional<std::int64_t> epochs = {};  // absent with `run:`
  std::optional<double> images_per_s = {};
  bool first_epoch_excluded = false;  // from images_per_s
  std::optional<double> val_accuracy = {};
  int restarts = 0;
  int stalls = 0;                      // times that ranks kept the others waiting
  std::optional<double> goodput = {};  // step time / wall time, 0 .. 1
  std::string reason = {};             // one sentence; empty when completed
  std::string first_error = {};        // "rank 3 on n2: ValueError: bad"; empty: none was found
  std::string advice = {};             // what to change; empty: nobody knows
};

Summary summarize(const RunLedger& ledger, RunStatus status, double seconds, int ranks);

/// contract.md "summary.json"; of a run that did not complete also why.
nlohmann::ordered_json to_json(const Summary& summary);

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
