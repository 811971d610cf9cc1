// What happens when a run fails: restart inside the allocation, requeue, or leave.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Which starts of the ranks are preceded by node checks.
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

/// Kinds of failure after which the job is requeued.
struct RequeueOn {
  bool timeout = true;
  bool preempted = true;
  bool node_fail = true;

  bool operator==(const RequeueOn&) const = default;
  bool any() const { return timeout || preempted || node_fail; }
};

/// The recovery that takes effect. Commands not declared restartable are treated as Slurm alone
/// would.
struct RecoveryPlan {
  int max_restarts = 0;  // within one allocation
  RequeueOn requeue_on = {.timeout = false, .preempted = true, .node_fail = true};
  /// Seconds without progress after which the ranks are ended; 0: no stall detection.
  double stall_abort_seconds = 0;
  PreflightWhen preflight = PreflightWhen::never;
  /// Extra nodes in the allocation. The ranks continue on them when a node fails.
  int spare_nodes = 0;
  /// Nodes on which the ranks start at least, of those that the plan has; 0: all of them.
  int min_nodes = 0;
  /// Seconds that the allocation is kept after an error of the program; 0: not at all.
  double hold_seconds = 0;
  /// Whether the stacks of all ranks are kept before ranks that hang are ended.
  bool autopsy = false;
  /// Nodes to be left to the spares: "auto" alone for those that the node book speaks against;
  /// empty: none.
  std::vector<std::string> avoid = {};

  bool elastic() const { return min_nodes > 0; }
};

/// Names the file that a command touches to signal progress.
inline constexpr const char* heartbeat_variable = "DLLAUNCH_HEARTBEAT";

/// Announces a restart in the job's output: what follows belongs to the newest attempt.
inline constexpr std::string_view attempt_mark = "dllaunch: attempt ";

}  // namespace dllaunch
