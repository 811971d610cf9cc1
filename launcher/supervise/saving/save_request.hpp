// Asks the ranks of one attempt, on all nodes, to save: AttemptWatch makes one before the time
// limit and at a stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "launcher/os/ask_ranks.hpp"
#include "launcher/os/starter_process.hpp"
#include "launcher/os/system.hpp"
#include "launcher/supervise/supervised_run.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// srun hands a signal to every process of its step (proctrack/cgroup), or to a task and its
/// children (proctrack/linuxproc), and it ends those that do not know it: the shell of a text, tee,
/// a loader's worker. So the ranks of a command are asked one process at a time: here, and by a
/// small step on the job's other nodes. If none of the run acts on the signal, srun sends it after
/// all: what a program does that has no handler is then seen.
class SaveRequest {
 public:
  using Time = std::chrono::steady_clock::time_point;

  SaveRequest(System& system, const SupervisedRun& run, std::int64_t fencing_token);

  /// Asks once. `patience`: for ranks that have no handler yet, as they have just started. Later
  /// calls can only shorten it.
  void make(Time now, std::chrono::seconds patience, const StarterProcess& starter);
  /// Goes on asking. Call it until ended().
  void look(Time now, const StarterProcess& starter);

  bool made() const { return give_up_at_.has_value(); }
  bool ended() const { return !waits_; }

 private:
  void look_elsewhere(Time now);

  System& system_;
  const SupervisedRun& run_;
  std::int64_t fencing_token_;
  AskRanks here_;
  bool asked_here_ = false;
  std::string elsewhere_;  // the job's other nodes, a host list
  std::optional<StarterProcess> step_ = {};
  bool asked_elsewhere_ = false;
  bool waits_ = false;
  std::optional<Time> give_up_at_ = {};
  Time next_look_ = {};
};

/// What the step does on each node: asks the ranks of that start until each has been asked, or the
/// time is over. `order`: "SIGNAL:TOKEN:SECONDS". bad_request: it is not.
Result<Ok> ask_ranks_here(System& system, const std::string& run_dir, const std::string& order);

}  // namespace dllaunch
