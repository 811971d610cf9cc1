// How often Slurm is queried, so that polling never burdens a shared controller.
#pragma once

namespace dllaunch {

struct PollFacts {
  double interval_s = 10;  // as configured
  bool any_live = false;   // a run is, or may be, in the queue
  int errors = 0;          // consecutive Slurm errors
  double answer_s = 0;     // duration of the last query
};

/// Seconds until the next look at the queue. Pure. Without a run in it nobody asks; the interval is
/// then how often the daemon looks for new runs. A silent controller is asked half as often each
/// time, at least every five minutes; a slow one has twenty times as long for others.
double poll_interval_s(const PollFacts& facts);

}  // namespace dllaunch
