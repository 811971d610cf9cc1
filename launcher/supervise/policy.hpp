// Decides what follows when the ranks have ended: restart here, requeue the job, or stop. A pure
// function of the history; supervisor.cpp carries it out.
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
  int exit_code = 1;                     // stop
  std::string exclude = {};              // requeue: host list of nodes to avoid
};

/// `history`: attempts of this run in their order, the last has just ended. `seconds_left`: until
/// the allocation ends; nothing: it does not.
Decision decide(const std::vector<Attempt>& history, const RecoverySettings& settings,
                std::optional<double> seconds_left);

/// The decision where the batch script ends with the supervisor's parent: a restart, which is
/// impossible in this allocation, becomes a requeue.
Decision without_restart(Decision decision);

/// Before the first start of a supervisor: a stop, or nothing. The last attempt may have no end,
/// for its supervisor was killed, and Slurm brings a job back whatever was decided about it.
/// `same_allocation`: it has not since the last attempt.
std::optional<Decision> decide_at_start(const std::vector<Attempt>& history,
                                        const RecoverySettings& settings, bool same_allocation);

/// Whether the nodes are to be looked at before the next start.
bool is_preflight_due(const std::vector<Attempt>& history, const RecoverySettings& settings);

/// Of an allocation that has too few fit nodes; `unfit` (a host list) are not for `why`.
/// `in_a_row`: so often the job was put back for this without a start of its ranks in between.
/// Nothing: the ranks start all the same.
std::optional<Decision> decide_of_nodes(const std::string& unfit, const std::string& why,
                                        int in_a_row, const RecoverySettings& settings);

/// How long the run's directory may be away or full before the run is stopped for it.
std::chrono::milliseconds patience_for_storage(const RecoverySettings& settings);

/// Attempts that this allocation has seen, the last included.
int attempts_here(const std::vector<Attempt>& history);

/// The last whose ranks were started; null: none were.
const Attempt* last_incarnation(const std::vector<Attempt>& history);

}  // namespace dllaunch
