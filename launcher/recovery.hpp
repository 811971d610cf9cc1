// What happens when a run does not come to its end: restarted here, put back into the queue, left.
#pragma once

#include <string_view>

namespace dllaunch {

/// Ends after which the job goes back into the queue.
struct RequeueOn {
  bool timeout = true;
  bool preempted = true;
  bool node_fail = true;

  bool operator==(const RequeueOn&) const = default;
  bool any() const { return timeout || preempted || node_fail; }
};

/// As it is carried out, of a command of which nobody said that it can be started twice too: those
/// are left as Slurm alone would treat them.
struct RecoveryPlan {
  int max_restarts = 0;  // inside one allocation
  RequeueOn requeue_on = {.timeout = false, .preempted = true, .node_fail = true};
  /// Seconds without a sign of life after which the ranks are ended; 0: nobody looks.
  double stall_abort_seconds = 0;
};

}  // namespace dllaunch
