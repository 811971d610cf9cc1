// What the ranks' logs say of an end: the first error, what to change, the lines to read.
#pragma once

#include <string>

#include "launcher/run/failure.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// What mpirun or the batch script wrote, for where the ranks' logs say nothing.
struct StarterOutput {
  std::string path;
  std::string text;
};

/// Fills first_error, log and excerpt, and advice where there is none yet. `since_s`: Unix seconds
/// of the start; logs untouched since are an earlier run's. False: no log shows an error.
bool add_failure_summary(const RunDir& run, const DeadRank& dead, double since_s,
                         const StarterOutput& starter, Outcome& outcome);

/// What the ranks' own watchdogs said last, where the run failed and that was not over: of a stall
/// that ended the job it is the cause, whichever rank was killed for it; of a death it stands where
/// no log has an error.
void add_stall(const RunTotals& totals, Outcome& outcome);

}  // namespace dllaunch
