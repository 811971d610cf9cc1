// What Slurm's record of a finished job means for the run. Pure except for reading the ranks' logs.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/run_outline.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// Returns the batch script's output file, from Slurm's record or the plan.
std::string slurm_log(const RunOutline& plan, const SlurmJob& job);

/// Returns the outcome of a finished job. `job_words`: the end of its output. A job without a
/// state, which Slurm has forgotten, is judged by the run's `end` event.
Outcome explain_slurm(const RunOutline& plan, const RunDir& run, const SlurmJob& job,
                      const RunTotals& totals, const std::string& job_words);

/// The same for a job that has left the queue. `ended` has one entry, or one per task of an array
/// (each with a directory task-N in the run's), or none if Slurm has forgotten the job. Reads the
/// job's output.
Outcome explain_jobs(const RunOutline& plan, const RunDir& run, const std::string& id,
                     const std::vector<SlurmJob>& ended, const RunTotals& totals);

/// Returns the directory of an array's task.
RunDir task_dir(const RunDir& run, const std::string& task);

/// Adds queue and run time from Slurm's clock; without them, `seconds` since submission.
void add_times(const SlurmJob& job, double seconds, Outcome& outcome);

/// Returns the seconds between two Slurm time stamps; nullopt if one is missing.
std::optional<double> seconds_between(const std::string& from, const std::string& to);

}  // namespace dllaunch
