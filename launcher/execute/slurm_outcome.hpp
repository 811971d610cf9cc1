// What Slurm's record of a finished job means for the run. Pure but for the ranks' logs.
#pragma once

#include <string>

#include "launcher/execute/outcome.hpp"
#include "launcher/execute/rank_logs.hpp"
#include "launcher/plan.hpp"
#include "launcher/run_dir.hpp"
#include "launcher/slurm_text.hpp"

namespace dllaunch {

/// The file the batch script writes to, as Slurm says or as the plan has it.
std::string slurm_log(const LaunchPlan& plan, const SlurmJob& job);

/// How a finished job is told to people. `job_words` is the end of its output. A job that nobody
/// knows any more (no state) is judged by the run's own `end` event.
Outcome explain_slurm(const LaunchPlan& plan, const RunDir& run, const SlurmJob& job,
                      const RunLedger& ledger, const std::string& job_words);

/// Queue and run time from Slurm's clock; `seconds` since submission where it has none.
void add_times(const SlurmJob& job, double seconds, Outcome& outcome);

/// Seconds between two of Slurm's time stamps; nothing when one is missing.
std::optional<double> seconds_between(const std::string& from, const std::string& to);

}  // namespace dllaunch
