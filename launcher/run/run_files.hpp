// Prepares a run directory for a job, new or resumed.
#pragma once

#include <string>

#include "launcher/job/job.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

struct LaunchPlan;
struct ModularPlan;

/// bad_request: the directory holds a run of a job that computes something else (the error names
/// every key that differs), or a component of another run.
Result<Ok> check_same_job(System& system, const RunDir& run, const Job& job,
                          const LaunchPlan& plan);

/// Returns who may read copies of a job file: no more users than may read the file itself.
Readers readers_of(const std::string& job_file);

/// The text of RUN/job.yaml.
std::string job_text(const Job& job);

/// Writes job.yaml, train.json, plan.json, and job.sbatch for Slurm.
Result<Ok> write_run_files(const RunDir& run, const Job& job, const LaunchPlan& plan,
                           Readers readers = Readers::none);

/// The same of a modular run, with what each component needs: RUN/components/NAME/ has its
/// plan.json, train.json and component.sh, or without Slurm RUN/components/NAME.yaml is its job
/// file.
Result<Ok> write_run_files(const RunDir& run, const Job& job, const ModularPlan& plan,
                           Readers readers = Readers::none);

}  // namespace dllaunch
