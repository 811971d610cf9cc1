// One Slurm job of this user: submits it, and finds its final record. client.hpp asks for the rest.
// Does not know runs: job_identity.hpp tells whether a job belongs to a run.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/slurm/pending_reasons.hpp"

namespace dllaunch {

/// The outcome of a submission.
struct Submitted {
  Result<std::string> id;
  /// Nothing was submitted: sbatch did not run, rejected an option, or the controller refused. If
  /// sbatch was killed or printed no message, the job may have been submitted.
  bool refused = false;
};

/// Submits a script. Removes SBATCH_ variables that would override its directives from sbatch's
/// environment. Ignores lines that a site's wrapper prints. bad_request: sbatch rejects an option.
/// unavailable: sbatch refuses (its own message) or is missing. timeout: no answer in 60 s; the job
/// may have been submitted. `more`: options that take precedence over the script's.
Submitted submit_job(System& system, const std::string& script,
                     const std::vector<std::string>& more = {});

struct TestedSubmission {
  std::optional<Error> refusal = {};  // nullopt: sbatch would accept the job
  std::string message = {};           // sbatch's output, including its estimated start
};

/// Validates a submission with these options (sbatch --test-only). Errors as in submit_job.
TestedSubmission test_submission(System& system, const std::vector<std::string>& options,
                                 std::chrono::milliseconds limit = std::chrono::seconds(60));

/// The job id in the output of `sbatch --parsable`, "123" or "123;cluster"; nullopt if there is
/// none.
std::optional<std::string> job_id_in(std::string_view text);

/// The final records of a job, or of every task of an array: from scontrol, which forgets after
/// MinJobAge, else from accounting. Empty if neither knows the job; `silent`, if given, is then set
/// when one of them did not answer. For a cancelled job, accounting names the user who cancelled
/// it.
std::vector<SlurmJob> finished_jobs(System& system, const std::string& id, bool* silent = nullptr);
/// The same for a run's job. Skips other jobs with the same id.
std::vector<SlurmJob> finished_jobs(System& system, const JobIdentity& job, bool* silent = nullptr);
/// The same for a job that is not an array; nullopt if it is unknown.
std::optional<SlurmJob> finished_job(System& system, const std::string& id);

}  // namespace dllaunch
