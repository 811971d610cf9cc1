// How often a training should save itself.
#pragma once

#include <optional>
#include <string>

namespace dllaunch {

/// Between failures of one node, where nobody knows better. Llama 3's 419 failures in 54 days on
/// 2,048 nodes were one in 6,300 hours; smaller clusters, preemption and people are worse.
constexpr double node_mtbf_hours = 1000;

/// Between failures of a job: as `asked`, or of so many nodes like any.
double job_mtbf_s(std::optional<double> asked_hours, int nodes);

/// The time from one checkpoint to the next at which saving and what a failure takes back cost the
/// least together: sqrt(2 * save_s * mtbf_s) (Young 1974, Daly 2006), and never below save_s.
double best_interval_s(double save_s, double mtbf_s);

/// "checkpoints every 32 min from now on: one takes 0.51 s, a failure is expected every 1000 h
/// (Young/Daly)"
std::string render_interval(double interval_s, double save_s, double mtbf_s);

}  // namespace dllaunch
