// RUN/job.json and RUN/job.id: which of Slurm's jobs is the run's.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// Looks whether there is a RUN/job.sbatch, and into RUN/job.json.
JobIdentity identity_of(const LaunchPlan& plan, const RunDir& run, const std::string& id);

/// Keeps in RUN/job.json the job's token, when it was submitted and on which cluster. A file system
/// that refuses costs that knowledge only.
void remember_job(System& system, const RunDir& run, const std::string& id,
                  const std::string& token);

/// The same of a job that its user submitted with a script of his own, seen from within: the script
/// stands for the token. Does nothing where the run has a RUN/job.sbatch.
void remember_own_script(System& system, const RunDir& run, const SlurmJob& job);

/// unavailable: the run's job was submitted on another cluster than this one, both named.
/// Asks for the name of this one only where the run's is known.
Result<Ok> check_cluster(const RunDir& run, const std::string& id, OwnCluster& here);
Result<Ok> check_cluster(System& system, const RunDir& run, const std::string& id);

/// The run's job (its id stands in RUN/job.id) while it is in the queue; of an array one task, with
/// the array's id. unavailable, timeout: Slurm does not answer. unavailable: another cluster has
/// it.
Result<std::optional<QueuedJob>> job_of_run(const LaunchPlan& plan, const RunDir& run,
                                            System& system);

}  // namespace dllaunch
