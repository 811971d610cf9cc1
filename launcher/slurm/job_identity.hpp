// Whether a Slurm job belongs to a run. The job id alone is not enough: a controller that lost its
// state counts from 1 again, and each cluster counts separately.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// What a run knows about its job.
struct JobIdentity {
  std::string id;          // Slurm's job id
  std::string name;        // --job-name
  std::string script;      // RUN/job.sbatch, or the user's own; empty: unknown
  std::string token = {};  // in the comment of jobs that dllaunch submits; empty: unknown
  double submitted_s = 0;  // Unix seconds; 0: unknown
};

/// Whether a job with the run's id is the run's job. Tokens decide if both are known. If one is
/// missing (a site strips comments, or the user submitted the script), the script decides. For runs
/// without RUN/job.json (older versions), and for jobs whose script Slurm does not report, the name
/// is enough, unless the job runs another run's RUN/job.sbatch. If Slurm reports nothing, the job
/// counts as the run's.
bool is_same_job(const JobIdentity& ours, const JobOrigin& origin);
/// The same, and checks the submission time: without a token, a job submitted a day before the
/// run's is not the run's. A requeue changes that time, but never to an earlier one.
bool is_same_job(const JobIdentity& ours, const SlurmJob& job);

/// The script that Slurm reports for a job; empty if it reports none.
std::string script_of(const JobOrigin& origin);

/// The name of this cluster. Asks Slurm at most once.
class OwnCluster {
 public:
  explicit OwnCluster(System& system) : system_(system) {}
  /// Empty if Slurm does not say.
  const std::string& name();

 private:
  System& system_;
  std::optional<std::string> name_;
};

}  // namespace dllaunch
