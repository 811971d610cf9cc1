// One run of a job whose nodes fail at random, to its end, as dllaunch recovers it
// (launcher/supervise/policy.hpp). Pure: the same seed gives the same run.
//
// What is simulated of a lost node: the ranks end, and `detect_s` later the supervisor knows it.
// With enough nodes and a restart left, the ranks start again in the same allocation; else, or if
// the script's own node was lost, the whole job goes back to the queue, `node_down_s` after the
// failure at the earliest. Both go on from the newest checkpoint. A spare node that is lost
// interrupts nothing. Errors of the program itself are not simulated.
#pragma once

#include <cstdint>

#include "launcher/failures/failure_rates.hpp"

namespace dllaunch {

/// What failures cost. Seconds.
struct FailureCosts {
  double save_s = 30;        // a checkpoint, for which training stops
  double detect_s = 60;      // from a node's failure until the supervisor acts
  double node_down_s = 300;  // until Slurm has the node marked down: SlurmdTimeout
  double restart_s = 120;    // from the start of the ranks to their first step
  double queue_s = 3600;     // in the queue, after a requeue
};

struct RecoveryRules {
  int nodes = 1;
  int spare_nodes = 0;
  int min_nodes = 0;  // with which it goes on; 0: all
  int max_restarts = 3;
  bool requeue_node_fail = true;
  bool requeue_timeout = true;
  bool trains = false;    // three attempts without a checkpoint stop it
  double limit_s = 0;     // of an allocation; 0: none
  double grace_s = 120;   // before the limit
  double interval_s = 0;  // of training between checkpoints

  bool operator==(const RecoveryRules&) const = default;
};

/// The rules without dllaunch: no restart, no spare node; a failure sends the whole job to the
/// queue.
RecoveryRules plain_requeueing(RecoveryRules rules);

struct SimulatedRun {
  bool finished = false;  // else recovery gave up, or it took ten times as long as it should
  double elapsed_s = 0;   // from the first start of the ranks, with the queue in between
  double work_s = 0;      // that is done: training time of all nodes without any interruption
  double node_s = 0;      // nodes times seconds in its allocations, spare nodes included
  int interruptions = 0;  // by failures
  int restarts = 0;       // of these, in the same allocation
  int requeues = 0;       // of these, the others; the time limit's are not counted
  int rounds = 0;         // from one failure or time limit to the next: what a simulation costs

  /// Effective training time, 0 .. 1.
  double effective() const { return elapsed_s > 0 ? work_s / elapsed_s : 1; }
};

/// What an allocation without a failure has left for training before its time limit, at least; 0 or
/// less: none. Infinity: it has no limit.
double training_before_limit_s(const RecoveryRules& rules, const FailureCosts& costs);

/// `work_s`: above 0. `hits`: of nodes + spare_nodes.
SimulatedRun simulate_run(const HitRates& hits, const RecoveryRules& rules,
                          const FailureCosts& costs, double work_s, std::uint64_t seed);

}  // namespace dllaunch
