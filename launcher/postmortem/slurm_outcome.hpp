// What Slurm's record of a finished job means for the run. Pure but for the ranks' logs.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// The file the batch script writes to, as Slurm says or as the plan has it.
std::string slurm_log(const LaunchPlan& plan, const SlurmJob& job);

/// How a finished job is told to people. `job_words` is the end of its output. A job that nobody
/// knows any more (no state) is judged by the run's own `end` event.
Outcome explain_slurm(const LaunchPlan& plan, const RunDir& run, const SlurmJob& job,
                      const RunTotals& totals, const std::string& job_words);

/// The same for a job that is gone from the queue: `ended` has an entry, of an array one a task
/// (each with a directory task-N in the run's), or none when nobody knows it. Reads its output.
Outcome explain_jobs(const LaunchPlan& plan, const RunDir& run, const std::string& id,
                     const std::vector<SlurmJob>& ended, const RunTotals& totals);

/// Where the files of an array's task lie.
RunDir task_dir(const RunDir& run, const std::string& task);

/// Queue and run time from Slurm's clock; `seconds` since submission where it has none.
void add_times(const SlurmJob& job, double seconds, Outcome& outcome);

/// Seconds between two of Slurm's time stamps; nothing when one is missing.
std::optional<double> seconds_between(const std::string& from, const std::string& to);

}  // namespace dllaunch
