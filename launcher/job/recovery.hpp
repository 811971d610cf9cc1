// What happens when a run does not come to its end: restarted here, put back into the queue, left.
#pragma once

#include <string_view>

namespace dllaunch {

/// Before which starts of the ranks the nodes are looked at.
enum class PreflightWhen { never, restarts, always };
constexpr std::string_view to_string(PreflightWhen when) {
  return when == PreflightWhen::never      ? "never"
         : when == PreflightWhen::restarts ? "restarts"
                                           : "always";
}
constexpr PreflightWhen preflight_when(std::string_view word) {
  return word == "never"    ? PreflightWhen::never
         : word == "always" ? PreflightWhen::always
                            : PreflightWhen::restarts;
}

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
  PreflightWhen preflight = PreflightWhen::never;
  /// Of the allocation, beyond those of the ranks, which go on there without a node that failed.
  int spare_nodes = 0;
};

/// Where a command finds the file that it touches to say that it is well.
inline constexpr const char* heartbeat_variable = "DLLAUNCH_HEARTBEAT";

/// What restarts are announced with in the job's output: what follows is of the newest attempt.
inline constexpr std::string_view attempt_mark = "dllaunch: attempt ";

}  // namespace dllaunch
