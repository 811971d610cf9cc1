// How often Slurm is queried, so that polling never burdens a shared controller.
#pragma once

namespace dllaunch {

struct PollFacts {
  double interval_s = 10;  // as configured
  bool any_live = false;   // a run is, or may be, in the queue
  int errors = 0;          // consecutive Slurm errors
  double answer_s = 0;     // duration of the last query
};

/// Returns seconds until the next query of the queue. Pure. Without a run in the queue, Slurm is
/// not queried; the interval is then the one for new runs. For a silent controller the interval
/// doubles each time, up to five minutes; after a slow answer it is twenty times the answer's
/// duration.
double poll_interval_s(const PollFacts& facts);

}  // namespace dllaunch
