// A run's results: summary.json and the block printed at the end.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/run/books.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/history.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/json.hpp"

namespace dllaunch {

enum class RunStatus { completed, failed, cancelled, timeout, preempted, node_fail, out_of_memory };
inline constexpr std::string_view run_status_names[] = {
    "completed", "failed", "cancelled", "timeout", "preempted", "node_fail", "out_of_memory"};
std::string_view to_string(RunStatus status);

/// Totals of a run's events that count (history.hpp).
class RunTotals {
 public:
  /// Returns whether the event counts; others are not shown.
  bool take(const Event& event);

  /// Adds an event of an earlier run in this directory; its time does not count.
  void recall(const Event& event);

  const History& history() const { return history_; }
  /// Returns finished epochs, including earlier runs in the directory. Like val_accuracy(), it
  /// decreases when an incarnation continues from an earlier checkpoint.
  std::int64_t epochs() const { return epochs_.empty() ? 0 : epochs_.back().epoch; }
  int restarts() const { return history_.restart_count(); }
  std::optional<double> val_accuracy() const {
    return epochs_.empty() ? std::nullopt : epochs_.back().val_accuracy;
  }
  const std::string& end_status() const { return end_status_; }
  /// Returns the latest stall or death that is not over; nullopt: none.
  const std::optional<StallEvent>& stall() const { return stall_; }
  int stalls() const { return stalls_; }
  /// Returns checkpoints that the newest start skipped, at most eight.
  const std::vector<CheckpointRefusedEvent>& refused() const { return refused_; }
  bool ended() const { return !end_status_.empty(); }
  bool trained() const { return steps_ > 0; }

  /// Returns useful step time over wall time, 0 .. 1, as defined in history.hpp; nullopt without a
  /// step. `wall_seconds` excludes the queue; it is raised to the span of the events, up to
  /// `most_seconds`: clocks of two nodes may differ by years.
  std::optional<double> goodput(double wall_seconds, double most_seconds = no_bound) const;
  static constexpr double no_bound = std::numeric_limits<double>::infinity();

  /// Returns training images of all ranks per second of training. Excludes the first epoch after
  /// each start, which includes compilation, first reads and tuning, unless there is no other.
  /// Without an epoch, averages over steps, weighted by time.
  std::optional<double> images_per_s() const;
  /// Returns images_per_s() in tokens; nullopt: none are predicted.
  std::optional<double> tokens_per_s() const;
  std::optional<double> val_perplexity() const { return val_perplexity_; }  // the latest
  bool first_epoch_excluded() const { return later_epochs_.seconds > 0; }

  /// Returns the seconds in training steps that count (data, forward, backward, reduction, update):
  /// for every step event, the time since the previous event. Start-up and validation end with
  /// events of their own and do not count. A checkpoint is reported some steps later, once it is
  /// written; the time it blocked is subtracted then.
  double step_seconds() const { return history_.step_seconds(); }

 private:
  void finish_epoch(const EpochEvent& event);
  void forget_lost_epochs();

  struct FinishedEpoch {
    std::int64_t epoch = 0;
    std::int64_t step = 0;               // its last step; 0: an older trainer did not report it
    std::optional<double> val_accuracy;  // its own, or the latest before it
  };
  static constexpr std::size_t most_epochs = 4096;  // only the newest are kept

  History history_;
  std::vector<FinishedEpoch> epochs_;
  std::int64_t steps_ = 0;  // step events
  std::string end_status_;
  std::optional<StallEvent> stall_;
  int stalls_ = 0;
  std::vector<CheckpointRefusedEvent> refused_;
  double step_images_ = 0;       // of step events, including steps lost later
  double image_seconds_ = 0;     // time spent on them
  double tokens_per_image_ = 0;  // 0: none
  std::optional<double> val_perplexity_;
  struct Work {
    double images = 0;
    double seconds = 0;  // training time
  };
  Work first_epochs_;  // first epoch after each start of the trainer
  Work later_epochs_;
  bool first_epoch_comes_ = true;
};

/// Returns the totals of the run's events from `since_s` on; earlier ones are recalled.
RunTotals read_totals(const RunDir& run, double since_s);

/// Number of array tasks by status; empty: not an array.
using TaskCounts = std::map<RunStatus, int>;

struct Summary {
  RunStatus status = RunStatus::completed;
  double seconds = 0;                        // wall time without the queue
  std::optional<double> queue_seconds = {};  // absent locally
  int ranks = 1;                             // at the end; of an array: per task
  int planned_ranks = 0;                     // where they were more; 0: as many
  TaskCounts tasks = {};
  std::optional<std::int64_t> epochs = {};  // absent for `run:`
  std::optional<double> images_per_s = {};
  std::optional<double> tokens_per_s = {};    // where tokens are predicted
  std::optional<double> val_perplexity = {};  // likewise
  bool first_epoch_excluded = false;          // applies to images_per_s and tokens_per_s
  std::optional<double> val_accuracy = {};
  int restarts = 0;
  int stalls = 0;                          // how often ranks delayed the others
  std::optional<double> goodput = {};      // useful step time / wall time, 0 .. 1; see history.hpp
  std::int64_t lost_steps = 0;             // by restarts, in total
  double lost_seconds = 0;                 // step time of the lost steps
  std::vector<Restart> restart_list = {};  // the newest
  std::string reason = {};                 // one sentence; empty when completed
  std::string first_error = {};            // "rank 3 on n2: ValueError: bad"; empty: none was found
  std::string advice = {};                 // what to change; empty: unknown
  Books books = {};                        // of all submissions of the run
  bool unseen = false;                     // as in Outcome
  std::string submission = {};             // which it is the end of; empty: unknown
  std::int64_t submissions = 1;
};

/// `seconds`, `most_seconds`: as for RunTotals::goodput.
Summary summarize(const RunTotals& totals, RunStatus status, double seconds, int ranks,
                  double most_seconds = RunTotals::no_bound);

/// Returns the object in summary.json; includes the reason if the run did not complete.
Json to_json(const Summary& summary);

/// Paths and the next command, for people.
struct SummaryPlaces {
  std::string run_dir = {};
  std::string checkpoint = {};  // newest; empty: none
  std::string next = {};        // command that continues the run; empty: none
};

/// "5,245 images/s (first epoch excluded)".
std::string throughput(double per_s, bool first_epoch_excluded, std::string_view what = "images");

/// Returns the command that continues a run, and what that does: resume from a checkpoint, or start
/// from the beginning. A program of `run:` (not `trains`) may resume by itself.
std::string next_words(const std::string& command, bool has_checkpoint, bool trains);

std::string render_summary(const Summary& summary, const SummaryPlaces& places);

}  // namespace dllaunch
