// How often to write checkpoints.
#pragma once

#include <optional>
#include <string>

namespace dllaunch {

/// Default mean time between failures of a node. Llama 3's 419 failures in 54 days on 2,048 nodes
/// were one per node in 6,300 hours; smaller clusters, preemption and human error are worse.
constexpr double node_mtbf_hours = 1000;

/// Returns the mean time between failures of a job: `asked_hours`, or the default for this many
/// nodes.
double job_mtbf_s(std::optional<double> asked_hours, int nodes);

/// Returns the interval between checkpoints that minimises the cost of saving plus the work lost to
/// failures: sqrt(2 * save_s * mtbf_s) (Young 1974, Daly 2006), at least save_s.
double best_interval_s(double save_s, double mtbf_s);

/// Returns "checkpoints every 32 min from now on: one takes 0.51 s, a failure is expected every
/// 1000 h (Young/Daly)".
std::string render_interval(double interval_s, double save_s, double mtbf_s);

}  // namespace dllaunch
