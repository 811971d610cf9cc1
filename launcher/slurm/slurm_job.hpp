// One job of ours in Slurm: submitted, asked after, cancelled. Each call is one short command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/slurm/pending_reasons.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// What sbatch made of a script.
struct Submitted {
  Result<std::string> id;
  /// Certainly nothing was submitted: sbatch did not run, did not understand an option, or the
  /// controller said no. Killed, cut off or without a message it may have submitted all the same.
  bool refused = false;
};

/// Submits a script. SBATCH_ variables that would count before its lines are
/// taken out of sbatch's environment. Lines that a site's wrapper adds are passed over.
/// bad_request: sbatch does not understand an option. unavailable: it refuses, in its own words,
/// or is not there. timeout: no answer in 60 s; the job may have been taken all the same.
/// `more`: options that count before those in the script.
Submitted submit_job(System& system, const std::string& script,
                     const std::vector<std::string>& more = {});

struct TestedSubmission {
  std::optional<Error> refusal = {};  // nothing: sbatch would take the job
  std::string message = {};           // what sbatch printed, its estimate of the start among it
};

/// Asks sbatch what it would do with a job of these options, without submitting one. Errors as
/// submit_job's.
TestedSubmission test_submission(System& system, const std::vector<std::string>& options);

/// The id in what `sbatch --parsable` printed, "123" or "123;cluster"; nothing when there is none.
std::optional<std::string> job_id_in(std::string_view text);

/// What squeue says; nothing when it no longer knows the job. unavailable, timeout: the controller
/// does not answer.
Result<std::optional<QueuedJob>> queued_job(System& system, const std::string& id);

/// All jobs of this user in the queue, in one call; with `id` those of one job, whoever's it is. An
/// empty answer where Slurm has forgotten that job. unavailable, timeout: as queued_job.
Result<std::vector<QueuedJob>> queued_jobs(System& system, const std::string& id = "");

/// The end of a job, of an array's every task: from scontrol, which forgets after MinJobAge, else
/// from accounting. Empty when neither knows; `silent`, where given, then tells whether one of them
/// did not answer, and so may know. Of a cancelled job accounting is asked by whom.
std::vector<SlurmJob> finished_jobs(System& system, const std::string& id, bool* silent = nullptr);
/// The same of a run's job: not of another one that has its number.
std::vector<SlurmJob> finished_jobs(System& system, const JobIdentity& job, bool* silent = nullptr);
/// The same of a job that is no array; nothing when nobody knows it.
std::optional<SlurmJob> finished_job(System& system, const std::string& id);
std::optional<SlurmJob> finished_job(System& system, const JobIdentity& job);

/// Signals the batch script, whose trap hands it on to the ranks' step and to no other.
Result<Ok> signal_script(System& system, const std::string& id, const std::string& signal);
Result<Ok> cancel_job(System& system, const std::string& id);

/// "PENDING", "CONFIGURING", "REQUEUED" ...: it has not run yet, or will run again.
bool is_waiting_state(std::string_view state);
/// It will not run again: COMPLETED, FAILED, TIMEOUT, ...
bool is_final_state(std::string_view state);

}  // namespace dllaunch
