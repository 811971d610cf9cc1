// The supervisor's side of script_watch.hpp: the job step on another node that runs the watcher.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/owned_process.hpp"
#include "launcher/os/system.hpp"
#include "launcher/supervise/attempt_watch.hpp"

namespace dllaunch {

/// Returns the last node that is not the script's, since spare nodes come last; empty: none.
std::string node_to_watch_from(const std::vector<std::string>& nodes, const std::string& host);

/// Runs beside the ranks' step and uses no resources of its own.
std::vector<std::string> watchdog_argv(const SupervisedRun& run, const std::string& node,
                                       const std::string& dllaunch);

/// Does nothing if the run has no spare nodes.
class WatchdogStep {
 public:
  using Time = std::chrono::steady_clock::time_point;

  WatchdogStep(System& system, const SupervisedRun& run);
  WatchdogStep(const WatchdogStep&) = delete;
  WatchdogStep& operator=(const WatchdogStep&) = delete;
  /// Ends it, within 5 s.
  ~WatchdogStep();

  /// Call often: restarts the step if it does not run, for example after its node failed. At most
  /// every 10 s, less often if that does not help.
  void keep(Time now);
  /// Pid of srun; 0: not running.
  pid_t pid() const { return step_ ? step_->pid() : 0; }

 private:
  void start();
  void log_once(const std::string& message);

  System& system_;
  const SupervisedRun& run_;
  std::optional<OwnedProcess> step_;
  Time next_start_ = {};
  std::chrono::milliseconds pause_{};
  bool said_ = false;
};

}  // namespace dllaunch
