// A run on the nodes of a recorded trace: real failures and repairs at the moments at which they
// happened, recovered by the supervisor's own decide(). Shares no code with the simulation that it
// is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/failures/outages.hpp"
#include "launcher/failures/simulated_run.hpp"

namespace dllaunch {

/// The nodes of a trace, with those that never failed.
class TracedFleet {
 public:
  explicit TracedFleet(const NodeOutages& trace);

  int size() const { return static_cast<int>(nodes_.size()); }
  bool is_up(int node, double time_s) const;
  /// The first failure at or after a time; infinity: none.
  double next_failure(int node, double time_s) const;
  double until_s() const { return until_s_; }

 private:
  std::vector<std::vector<std::pair<double, double>>> nodes_;  // failed, repaired
  double until_s_ = 0;
};

/// From `begin_s` of the trace. Each allocation gets nodes at random of those that are up then.
/// Not finished: also if the trace ends before it.
SimulatedRun replay_run(const TracedFleet& fleet, const RecoveryRules& rules,
                        const FailureCosts& costs, double work_s, double begin_s,
                        std::uint64_t seed);

/// ../shared/data/failures as a file for `--failures`; empty: it is not there.
std::string published_trace_csv();

}  // namespace dllaunch
