// What of events.jsonl counts: each training step once, however often it was trained.
//
// A run that was restarted has had several incarnations, and the file holds what all of them wrote,
// in the order in which it arrived. What counts:
//
//  1. Of lines with a fencing token (runtime/rank/run_ownership.hpp) those of the highest so far. A
//  lower one
//     is an orphan's, which did not know yet that a later incarnation had begun. Lines without one
//     count.
//  2. An incarnation goes on from a step: that of the checkpoint in its `restart` event with the
//     reason "resume", 0 without one. What was trained beyond it is lost work.
//  3. A step that counts already does not count again.
//
// Definitions, which docs/recovery.md repeats for users:
//   useful step time = the time of the steps that count and were not lost. The time of a step is
//       that from the event before to its `step` event, less what checkpoints blocked in it.
//   goodput = useful step time / wall time.
//   wall time = from the start of the first incarnation's ranks to the end of the last's, all
//       between included but the time in Slurm's queue: as who started them measured it, and never
//       less than what the events span.
//   lost steps of a restart = the last step that counted before it, less the one it went on from.
//   down time of a restart = from the last event before it to the first step event after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/run/events.hpp"
#include "launcher/run/step_times.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct Restart {
  double time = 0;          // Unix seconds, when the new incarnation began
  std::string reason = {};  // of whoever restarted; else how the incarnation before ended
  std::string from = {};    // checkpoint; empty: from the beginning
  std::int64_t step = 0;    // it went on from
  std::int64_t lost_steps = 0;
  double lost_seconds = 0;                  // of step time
  std::optional<double> down_seconds = {};  // absent: no step since
};

class History {
 public:
  /// The newest are kept; what they sum to is of all.
  static constexpr std::size_t most_restarts = 100;

  /// False where the event does not count, and so is to be shown to nobody.
  bool take(const Event& event);
  /// The same of an event from before the time that is accounted for.
  bool recall(const Event& event);

  /// The last one that counts; 0: none. Falls when an incarnation goes on from an earlier
  /// checkpoint.
  std::int64_t step() const { return step_; }
  double step_seconds() const { return times_.seconds(); }
  /// What the latest step event added to step_seconds().
  double latest_seconds() const { return latest_seconds_; }

  int restart_count() const { return restart_count_; }
  const std::vector<Restart>& restarts() const { return restarts_; }
  std::int64_t lost_steps() const { return lost_steps_; }
  double lost_seconds() const { return lost_seconds_; }

  /// From the first event that is accounted for to the last one, less what restarts say they spent
  /// in the queue.
  double span_seconds() const;
  /// The same until a time that may be now.
  double span_until(double time_s) const;

 private:
  bool is_orphan(std::int64_t fencing_token);
  bool follow(const Event& event, bool accounted);
  void begin_incarnation(const StartEvent& event, bool accounted);
  void resume(const RestartEvent& event, bool accounted);
  void open_restart(double time);
  void go_on_from(std::int64_t step);
  bool take_step(const StepEvent& event);
  void account(const Event& event);

  std::int64_t fencing_token_ = 0;
  std::int64_t step_ = 0;
  int lives_ = 0;                 // `start` events
  int accounted_lives_ = 0;       // of them
  bool base_known_ = true;        // the step from which the present incarnation goes on
  bool restart_is_open_ = false;  // restarts_.back() is the present incarnation's
  std::string note_;              // reason of whoever restarts, for the next incarnation
  double queue_note_ = 0;         // seconds in the queue that came with it
  std::string ended_;             // status of the incarnation before; empty: it did not say
  double incarnation_time_ = 0;   // of the latest event of an incarnation
  double down_since_ = 0;         // that of the incarnation before; 0: not accounted for

  double first_time_ = 0;  // accounted for; 0: none
  double latest_time_ = 0;
  double queue_seconds_ = 0;
  double event_before_ = 0;     // time of it; 0: none
  double blocked_seconds_ = 0;  // by checkpoints, not yet taken off
  double latest_seconds_ = 0;
  StepTimes times_;

  int restart_count_ = 0;
  std::vector<Restart> restarts_;
  std::int64_t lost_steps_ = 0;
  double lost_seconds_ = 0;
};

/// "rank 1 was killed; from step 100, 30 steps lost, down 4.2 s".
std::string restart_words(const Restart& restart);
Json to_json(const Restart& restart);

}  // namespace dllaunch
