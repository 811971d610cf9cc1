// Reads the stacks of the supervisor's ranks before they are ended, in a process of its own: one
// that hangs or dies holds nothing up.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/os/owned_process.hpp"
#include "launcher/os/system.hpp"
#include "launcher/supervise/supervised_run.hpp"

namespace dllaunch {

/// The command of the process: `dllaunch stacks --keep`.
std::vector<std::string> autopsy_argv(const SupervisedRun& run, StacksKind kind,
                                      const std::string& why, const std::string& dllaunch);

class AutopsyStep {
 public:
  using Time = std::chrono::steady_clock::time_point;

  AutopsyStep(System& system, const SupervisedRun& run) : system_(system), run_(run) {}

  /// Starts one; not while one runs, after the tenth, or with `recovery.autopsy: false`. The last
  /// two are for ranks that end soon.
  void begin(StacksKind kind, const std::string& why, Time now);
  /// The last one does not count: the stall that it was for is over.
  void forget_one() { count_ = std::max(0, count_ - 1); }

  /// How long one may run: 10 s, and 1 s more for every 50 nodes.
  std::chrono::seconds longest() const;

  /// Whether one runs; it is ended after longest(). When it has ended, its
  /// sentence goes to the log.
  bool runs(Time now);

 private:
  void say_result() const;

  System& system_;
  const SupervisedRun& run_;
  std::optional<OwnedProcess> process_ = {};
  Time give_up_at_ = {};
  double began_at_s_ = 0;
  int count_ = 0;
};

}  // namespace dllaunch
