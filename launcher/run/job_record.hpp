// RUN/job.json and RUN/job.id: which Slurm job belongs to the run.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/plan/run_outline.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// Returns the job's identity, from RUN/job.json and the existence of RUN/job.sbatch.
JobIdentity identity_of(const RunOutline& plan, const RunDir& run, const std::string& id);

/// Stores the job's token, submission time and cluster in RUN/job.json, and its script if that is
/// not RUN/job.sbatch. If the file system refuses, only that information is lost.
void remember_job(System& system, const RunDir& run, const std::string& id,
                  const std::string& token, const std::string& script);

/// The same from inside a job that the user submitted with a script of their own: the script
/// replaces the token. Does nothing if RUN/job.sbatch exists.
void remember_own_script(System& system, const RunDir& run, const SlurmJob& job);

/// unavailable: the run's job was submitted on another cluster; the error names both. Queries this
/// cluster's name only if the run's is known.
Result<Ok> check_cluster(const RunDir& run, const std::string& id, OwnCluster& here);
Result<Ok> check_cluster(System& system, const RunDir& run, const std::string& id);

/// Before a command acts on the job that a run's directory names: whether it is the run's as Slurm
/// tells it, whatever stands in a directory that was forged, replaced or copied. The job's user or
/// root owns the directory and the files that name the job, and the job's script lies in no other
/// directory; of a job that dllaunch submitted, name and folder are the run's too. A component
/// stands for its whole. bad_request: it is not the run's; unavailable: Slurm does not answer.
Result<Ok> check_own_job(System& system, const RunOutline& plan, const RunDir& run,
                         const std::string& id);

/// Returns the run's job (RUN/job.id) while it is in the queue; for an array, one task with the
/// array's id. unavailable, timeout: Slurm does not respond. unavailable: another cluster has it.
Result<std::optional<QueuedJob>> job_of_run(const RunOutline& plan, const RunDir& run,
                                            System& system);

}  // namespace dllaunch
