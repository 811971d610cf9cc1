// Decides what follows when the ranks have ended: restart here, requeue the job, stop, or wait for
// a person first. A pure function of the history; supervisor.cpp carries it out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/job/recovery.hpp"
#include "launcher/run/attempt.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/summary.hpp"

namespace dllaunch {

struct RecoverySettings {
  RecoveryPlan plan = {};
  bool trains = false;      // its checkpoints are visible from outside
  bool asks_ranks = false;  // ranks save on request
  int grace_seconds = 120;  // time to save before the time limit
};

struct Decision {
  Next next = Next::stop;
  std::string reason = {};               // one sentence
  std::chrono::milliseconds backoff{0};  // restart
  bool ask_slurm = false;                // requeue: Slurm does not do it on its own
  RunStatus status = RunStatus::failed;  // stop; also the status of a requeued run until it starts
  int exit_code = 1;                     // stop, and the end of a hold
  std::string exclude = {};              // requeue: host list of nodes to avoid
  std::chrono::milliseconds hold{0};     // hold: at most; then it is a stop
};

/// Returns what to do next. `history`: the run's attempts in order; the last has just ended.
/// `seconds_left`: until the allocation ends; nullopt: no end.
Decision decide(const std::vector<Attempt>& history, const RecoverySettings& settings,
                std::optional<double> seconds_left);

/// Returns the decision when the batch script ends with the supervisor's parent: a restart becomes
/// a requeue.
Decision without_restart(Decision decision);

/// Returns a stop before a supervisor's first start, or nullopt. The last attempt may have no end
/// if its supervisor was killed, and Slurm may start a job again against the decision.
/// `same_allocation`: it has not since the last attempt.
std::optional<Decision> decide_at_start(const std::vector<Attempt>& history,
                                        const RecoverySettings& settings, bool same_allocation);

/// Whether a pre-flight is due before the next start. `same_allocation`: as the last attempt's.
bool is_preflight_due(const std::vector<Attempt>& history, const RecoverySettings& settings,
                      bool same_allocation);

/// Returns what to do in an allocation with too few fit nodes; nullopt: start the ranks anyway.
/// `unfit`: host list of unfit nodes, for the reason `why`. `in_a_row`: consecutive requeues for
/// this reason without a start of the ranks.
std::optional<Decision> decide_of_nodes(const std::string& unfit, const std::string& why,
                                        int in_a_row, const RecoverySettings& settings);

/// Returns how long the run's directory may be unavailable or full before the run is stopped.
std::chrono::milliseconds patience_for_storage(const RecoverySettings& settings);

/// Returns the number of attempts in this allocation, including the last.
int attempts_here(const std::vector<Attempt>& history);

/// Returns the last attempt whose ranks were started; null: none.
const Attempt* last_incarnation(const std::vector<Attempt>& history);

}  // namespace dllaunch
