// Which events in events.jsonl count: each training step once, however often it was trained.
//
// A restarted run has several incarnations, and the file holds what all of them wrote, in order of
// arrival. Rules:
//
// 1. Of the lines with a fencing token (runtime/rank/run_ownership.hpp), those with the highest so
//    far count. A lower token is an orphan's, which did not know that a later incarnation had
//    begun. Lines without a token count.
// 2. An incarnation continues from a step: that of the checkpoint in its `restart` event with
//    reason "resume", 0 without one. Steps trained beyond it are lost.
// 3. A step that already counts does not count again.
//
// Definitions, repeated for users in docs/explanation/recovery.md:
//   useful step time = the time of the steps that count and were not lost. A step's time runs from
//       the previous event to its `step` event, minus what checkpoints blocked in it, and minus
//       pauses of the job.
//
//   goodput = useful step time / wall time.
//
//   wall time = from the start of the first incarnation's ranks to the end of the last one's,
//       without time in Slurm's queue and pauses of the job. It is measured by the process that
//       starts the ranks, and is never less than the span of the events.
//
//   lost steps of a restart = the last step that counted before it, minus the step it continues
//       from.
//
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
  double time = 0;          // Unix seconds of the new incarnation's start
  std::string reason = {};  // given at the restart; else how the previous incarnation ended
  std::string from = {};    // checkpoint; empty: from the beginning
  std::int64_t step = 0;    // step it continues from
  std::int64_t lost_steps = 0;
  double lost_seconds = 0;                  // step time lost
  std::optional<double> down_seconds = {};  // absent: no step yet
  double queue_seconds = 0;                 // in Slurm's queue; not in down_seconds
};

class History {
 public:
  /// Keeps the newest restarts; totals cover all.
  static constexpr std::size_t most_restarts = 100;

  /// Returns false if the event does not count; such an event is not shown.
  bool take(const Event& event);
  /// The same for an event from before the accounted period.
  bool recall(const Event& event);

  /// Returns the last step that counts; 0: none. Decreases when an incarnation continues from an
  /// earlier checkpoint.
  std::int64_t step() const { return step_; }
  double step_seconds() const { return times_.seconds(); }
  /// Returns what the latest step event added to step_seconds().
  double latest_seconds() const { return latest_seconds_; }

  int restart_count() const { return restart_count_; }
  const std::vector<Restart>& restarts() const { return restarts_; }
  std::int64_t lost_steps() const { return lost_steps_; }
  double lost_seconds() const { return lost_seconds_; }
  /// Returns the time from a last event before a restart to the beginning of the first step after
  /// it, minus the queue, of all restarts; starts in between that came to no step included.
  double interrupted_seconds() const { return interrupted_seconds_; }
  /// Returns the accounted time in Slurm's queue between incarnations.
  double queue_seconds() const { return queue_seconds_; }
  /// Returns whether a restart has reached no step yet. A submission that continues from a
  /// checkpoint was not interrupted before.
  bool is_down() const { return idle_since_ > 0; }

  /// Returns the accounted time in which the job was suspended.
  double paused_seconds() const { return paused_seconds_; }

  /// Returns the time from the first accounted event to the last, minus time in the queue and
  /// pauses.
  double span_seconds() const;
  /// The same up to a given time, which may be now.
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
  int incarnations_ = 0;            // `start` events
  int accounted_incarnations_ = 0;  // of the accounted run
  bool base_known_ = true;          // the step the current incarnation continues from is known
  bool restart_is_open_ = false;    // restarts_.back() is the current incarnation's
  std::string note_;                // reason of the next restart
  double queue_note_ = 0;           // its seconds in the queue
  std::string ended_;               // status of the previous incarnation; empty: none
  double incarnation_time_ = 0;     // of the current incarnation's latest event
  double down_since_ = 0;           // of the previous incarnation's latest event; 0: not accounted

  double first_time_ = 0;  // first accounted event; 0: none
  double latest_time_ = 0;
  double queue_seconds_ = 0;
  double event_before_ = 0;  // its time; 0: none
  double paused_seconds_ = 0;
  double pause_ = 0;            // since that event
  double blocked_seconds_ = 0;  // blocked by checkpoints, not yet subtracted
  double latest_seconds_ = 0;
  StepTimes times_;

  int restart_count_ = 0;
  std::vector<Restart> restarts_;
  std::int64_t lost_steps_ = 0;
  double lost_seconds_ = 0;
  double interrupted_seconds_ = 0;
  double idle_since_ = 0;    // of the latest event before the restarts at hand; 0: none
  double idle_queue_ = 0;    // their seconds in the queue
  bool first_step_ = false;  // the step at hand ends them
};

/// "rank 1 was killed; from step 100, 30 steps lost, down 4.2 s".
std::string restart_words(const Restart& restart);
Json to_json(const Restart& restart);

}  // namespace dllaunch
