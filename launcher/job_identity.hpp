// Which job of Slurm's is a run's. A number alone does not say: a controller that lost its state
// counts from 1 again, and another cluster has numbers of its own.
#pragma once

#include <string>
#include <string_view>

#include "launcher/plan.hpp"
#include "launcher/run_dir.hpp"
#include "launcher/world.hpp"

namespace dllaunch {

/// What a run knows of its job.
struct JobIdentity {
  std::string id;      // Slurm's number
  std::string name;    // --job-name
  std::string script;  // RUN/job.sbatch; empty: its user submitted a script of his own
};
/// Looks whether there is a RUN/job.sbatch.
JobIdentity identity_of(const LaunchPlan& plan, const RunDir& run, const std::string& id);

/// Whether a job of the run's number is the run's. `origin`: "NAME|COMMAND" as Slurm has it; empty
/// where it did not say, which counts as the run's. A site may rename a job or submit a copy of its
/// script, so name or script is enough; another run's RUN/job.sbatch is not. Of a script that was
/// submitted by hand the name is all that is known.
bool is_same_job(const JobIdentity& ours, std::string_view origin);

/// Keeps in RUN/job.json on which cluster the job was submitted. A file system that refuses costs
/// that knowledge only.
void remember_cluster(World& world, const RunDir& run, const std::string& id);

/// unavailable: the run's job was submitted on another cluster than this one, both named.
/// Asks Slurm for the name of this one only where the run's is known.
Result<Ok> check_cluster(World& world, const RunDir& run, const std::string& id);

}  // namespace dllaunch
