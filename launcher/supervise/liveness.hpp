// Whether a run makes progress, judged from its files, and how long they have been silent.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "launcher/run/events.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// Returns the file a command touches to show that it is alive; ranks find the path in
/// DLLAUNCH_HEARTBEAT. Once touched, it alone counts.
std::string heartbeat_file(const RunDir& run);

/// The liveness of one attempt. The caller passes times: a file server's clock is not trusted.
class Liveness {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `limit_s`: seconds of silence allowed; 0: unlimited. `fencing_token`: only its events count;
  /// 0: all do.
  Liveness(RunDir run, bool trains, double limit_s, Time now, std::int64_t fencing_token = 0);

  /// This process was paused: the ranks' nodes may be resumed a little later.
  void resume(Time now, Time::duration pause);

  /// Reads new events, and checks the other files as often as the limit requires.
  void look(Time now);

  /// Returns the status in the attempt's `end` event; empty: none.
  const std::string& training_end() const { return training_end_; }

  /// Whether the attempt has reported a stall that is not over.
  bool stalled() const { return stalled_; }

  /// Whether that stall made the ranks end themselves.
  bool gave_up() const { return gave_up_; }

  /// That stall, as it was told last; nullopt: they did not end themselves.
  const std::optional<StallEvent>& given_up() const { return given_up_; }

  /// When the ranks of a training end by themselves: after the others of a stall began to wait, and
  /// at the limit after the start of the attempt until the training has begun; the latter is a
  /// guess, as ranks that are connected have no limit then. nullopt: nothing holds them up, or they
  /// have no limit.
  std::optional<Time> gives_up_at() const { return gives_up_at_; }

  /// Returns the seconds since the last progress, after another check. Slurm's own messages are not
  /// progress.
  double silent_s(Time now);

  /// Whether a training has reported no progress for longer than ever before: `least_s` at least, a
  /// minute at most.
  bool unusually_silent(Time now, double least_s = 20) const;

  /// Returns the reason, such as "no progress for 630 s"; empty: the run is live.
  std::string wedged(Time now) const;

 private:
  void take(const Event& event, Time now);
  void look_at_files(Time now);
  std::uint64_t fingerprint() const;
  double allowed_s() const;

  RunDir run_;
  bool trains_;
  double limit_s_;
  std::int64_t fencing_token_;
  EventTail events_;
  Time moved_at_;
  Time progressed_at_;          // by the training's events, but for those of a stall
  double longest_pause_s_ = 0;  // between these, from the first step on
  Time next_look_;
  std::uint64_t fingerprint_ = 0;
  std::string training_end_;
  bool stalled_ = false;
  bool gave_up_ = false;
  std::optional<StallEvent> given_up_;
  std::optional<Time> gives_up_at_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t step_ = 0;
  std::int64_t stride_ = 0;  // steps between the last two events
};

}  // namespace dllaunch
