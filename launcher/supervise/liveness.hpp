// Whether a run makes progress, judged from its files, and how long they have been silent.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "launcher/run/events.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// Where a command may say by touching it that it is well: ranks find the path in
/// DLLAUNCH_HEARTBEAT. Who touches it once is judged by it alone.
std::string heartbeat_file(const RunDir& run);

/// Of one attempt. Times are the caller's: no file server's clock is believed.
class Liveness {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `limit_s`: seconds of silence that are allowed; 0: any. `fencing_token`: events of others are
  /// not this attempt's; 0: all are.
  Liveness(RunDir run, bool trains, double limit_s, Time now, std::int64_t fencing_token = 0);

  /// Reads the events that came, and looks at the other files as often as the limit needs.
  void look(Time now);

  /// The status in the attempt's `end` event; empty: none came.
  const std::string& training_end() const { return training_end_; }

  /// Since something moved last; looks once more. Slurm's own words are no movement.
  double silent_s(Time now);

  /// Empty: all is well. Otherwise what to say: "nothing moved for 630 s".
  std::string wedged(Time now) const;

 private:
  void take(const Event& event);
  void look_at_files(Time now);
  std::uint64_t fingerprint() const;
  double allowed_s() const;

  RunDir run_;
  bool trains_;
  double limit_s_;
  std::int64_t fencing_token_;
  EventTail events_;
  Time moved_at_;
  Time next_look_;
  std::uint64_t fingerprint_ = 0;
  std::string training_end_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t step_ = 0;
  std::int64_t stride_ = 0;  // steps between the last two events
};

}  // namespace dllaunch
