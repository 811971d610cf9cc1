// A clock that stands still while this process does not run: suspended with its Slurm job (scontrol
// suspend, gang scheduling), stopped, or with its machine. Limits, rates and patience use it: no
// work was possible in that time.
#pragma once

#include <poll.h>

#include <chrono>

namespace dllaunch {

/// A pause is noticed by a wait that lasts longer than its limit: a process that wants it noticed
/// has one thread that spends its time in AwakeClock::Wait, of a second or less each.
class AwakeClock {
 public:
  // Not a type of its own: like a steady_clock that was set back.
  using time_point = std::chrono::steady_clock::time_point;
  using duration = time_point::duration;
  using rep = duration::rep;
  using period = duration::period;
  static constexpr bool is_steady = true;

  /// A wait that lasts longer than its limit by less is due to a loaded machine.
  static constexpr std::chrono::seconds shortest_pause{3};
  /// The machines of a job are resumed one after another: a process that was paused judges the
  /// others only after this.
  static constexpr std::chrono::seconds others_resume_within{10};

  static time_point now();
  /// Returns the pauses of this process so far, together.
  static duration paused();

  /// Surrounds a call that returns within `limit` if the process runs.
  class Wait {
   public:
    explicit Wait(duration limit);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    duration due_;
  };
};

/// poll() whose timeout is awake time, and which notices pauses unless it is negative.
int poll_awake(pollfd* files, nfds_t count, int timeout_ms);

}  // namespace dllaunch
