// A run directory made ready for a job, new or again.
#pragma once

#include "launcher/job/job.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// bad_request: the directory holds a run of a job that differs in what is computed; names every
/// key that does.
Result<Ok> check_same_job(System& system, const RunDir& run, const Job& job,
                          const LaunchPlan& plan);

/// Who may read copies of a job file: no more than may read the file.
Readers readers_of(const std::string& job_file);

/// Writes what is to be executed: job.yaml, train.json, plan.json, and for Slurm job.sbatch.
Result<Ok> write_run_files(const RunDir& run, const Job& job, const LaunchPlan& plan,
                           Readers readers = Readers::none);

}  // namespace dllaunch
