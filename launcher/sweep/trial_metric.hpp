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

/// bad_request: `metric` is none of the trainer's, with the nearest; or `run:` has no pattern.
Result<Ok> check_metric(const Job& job);

/// By epoch. Of `run:` only the last match of sweep.value in rank 0's output: of epoch `target`, or
/// without one of as many epochs as there are matches. What is no finite number is left out.
std::map<std::int64_t, double> read_metric(const RunDir& dir, const Job& job, std::int64_t target);

}  // namespace dllaunch
