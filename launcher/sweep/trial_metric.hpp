// The metric of a trial, epoch by epoch, from what its run left.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "launcher/job/job.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/sweep/sweep.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// bad_request: the trainer reports no such metric (the message suggests the nearest name), or
/// `run:` has no sweep.value.
Result<Ok> check_metric(const Job& job);

/// By epoch. Of `run:` the last number that rank 0 printed since the trial's `log_from`, of epoch
/// `target`, or 1 without one. What is no finite number is left out. unavailable: the file system
/// does not give what the run left.
Result<std::map<std::int64_t, double>> read_metric(const RunDir& dir, const Job& job,
                                                   const Trial& trial);

}  // namespace dllaunch
