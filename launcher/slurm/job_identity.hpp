// Which of Slurm's jobs belongs to a run. A number alone does not say: a controller that lost its
// state counts from 1 again, and another cluster has numbers of its own.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// What a run knows of its job.
struct JobIdentity {
  std::string id;          // Slurm's number
  std::string name;        // --job-name
  std::string script;      // RUN/job.sbatch, or its user's own; empty: not known
  std::string token = {};  // in the comment of a job that dllaunch submitted; empty: not known
  double submitted_s = 0;  // Unix seconds; 0: not known
};

/// Whether a job that has the run's number is the run's. Where both tokens are known they decide.
/// Where one is not (a site takes comments away, or the user submitted the script) the script
/// decides. Of a run that RUN/job.json says nothing of, as an older version left it, the name is
/// enough, unless the job runs another run's RUN/job.sbatch. So it is where Slurm does not say the
/// script, and where it says nothing the job counts as the run's.
bool is_same_job(const JobIdentity& ours, const JobOrigin& origin);
/// The same with a time of submission. Where a token is missing, a job that was submitted a day
/// before the run's is not the run's: a requeue changes that time, but never to an earlier one.
bool is_same_job(const JobIdentity& ours, const SlurmJob& job);

/// The script that Slurm names for a job, empty where it does not say.
std::string script_of(const JobOrigin& origin);

/// The name of this cluster. Slurm is asked at most once.
class OwnCluster {
 public:
  explicit OwnCluster(System& system) : system_(system) {}
  /// Empty: Slurm does not say.
  const std::string& name();

 private:
  System& system_;
  std::optional<std::string> name_;
};

}  // namespace dllaunch
