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

/// The last of them that is not the script's: where the spare ones are. Empty: none.
std::string node_to_watch_from(const std::vector<std::string>& nodes, const std::string& host);

/// Beside the ranks' step, and on no resources of its own.
std::vector<std::string> watchdog_argv(const SupervisedRun& run, const std::string& node,
                                       const std::string& dllaunch);

/// Nothing, where the run has no spare nodes.
class WatchdogStep {
 public:
  using Time = std::chrono::steady_clock::time_point;

  WatchdogStep(System& system, const SupervisedRun& run);
  WatchdogStep(const WatchdogStep&) = delete;
  WatchdogStep& operator=(const WatchdogStep&) = delete;
  /// Ends it, within 5 s.
  ~WatchdogStep();

  /// To be called often: starts it where it does not run (its node may have failed), at most every
  /// 10 s, and less often where that does not help.
  void keep(Time now);
  /// srun's; 0: there is none.
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
