// How many nodes are free when, as far as the queue tells: where a job of some width and length
// fits in before what waits already. Pure.
//
// Nodes are counted, not named: of nodes that are alike and given out whole, as many can be had for
// a time as the count says, since only jobs that run now are bound to their nodes. A job that
// shares its nodes counts as if it had them alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/slurm/queue_rows.hpp"

namespace dllaunch {

class FreeNodes {
 public:
  FreeNodes(double now_s, int nodes) : now_s_(now_s), nodes_(nodes), level_{{now_s, nodes}} {}

  int nodes() const { return nodes_; }
  /// Of the time from..to, both in Unix seconds; to may be infinite.
  void take(double from_s, double to_s, int nodes);
  /// The first moment, not before `from_s`, from which so many are free for so long; infinite:
  /// never.
  double earliest(int nodes, double seconds, double from_s) const;

 private:
  std::map<double, int>::iterator split_at(double time_s);

  double now_s_;
  int nodes_;
  std::map<double, int> level_;  // from this moment on
};

/// What the queue tells of some nodes.
struct NodeForecast {
  FreeNodes free;     // beside what runs and what waits
  FreeNodes running;  // beside what runs
  /// Seconds that all nodes together need for what waits in the partition, as if it packed without
  /// gaps: by so much Slurm delays what it places behind it (slurmctld 22.05, job_start_data()).
  double waiting_s = 0;
};

/// Of `hosts`, less those that are out of order, for a job of `partition`. Running jobs end at
/// their time limits, waiting ones start when Slurm plans, or where they fit in by their priority
/// if Slurm has not planned them (backfill looks at a limited number of jobs). Reservations are
/// kept free.
NodeForecast forecast_nodes(const QueueView& queue, const SlurmFacts& slurm,
                            const std::vector<std::string>& hosts, const std::string& partition,
                            double now_s);

}  // namespace dllaunch
