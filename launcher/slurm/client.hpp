// Asks and tells Slurm: builds the command line, runs it with its deadline, parses the answer.
// sbatch: slurm_job.hpp. Steps beside the ranks: overlap_step.hpp.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// A healthy controller answers within a second; a busy one may need several.
constexpr std::chrono::seconds slurm_limit(20);

/// The non-empty lines of a failed command's errors, else of its output, joined into one; else its
/// exit code.
std::string message_of(const CommandOutput& output);

/// The name of a user of this machine; "uid 1000" if it has none.
std::string user_name(uid_t uid);

/// All queued jobs of this user, in one call; with `id`, that job of any owner. Empty if Slurm
/// has forgotten the job. unavailable, timeout: the controller does not answer.
Result<std::vector<QueuedJob>> queued_jobs(System& system, const std::string& id = "");

/// Records of a job, or of the tasks of an array. Empty if they are not known.
struct JobRecords {
  std::vector<SlurmJob> jobs = {};
  bool silent = false;  // no answer, so the job may be known
};
/// The controller forgets a job after MinJobAge. It does not say who cancelled a job.
JobRecords jobs_of_controller(System& system, const std::string& id,
                              std::chrono::seconds limit = slurm_limit);
/// The last record of each job: a requeued one has several.
JobRecords jobs_of_accounting(System& system, const std::string& id);

/// A job and the text that says whose it is: "|COMMENT|COMMAND", or "|" and sbatch's command line.
struct JobWords {
  std::string id;
  std::string words;
};
/// This user's jobs in the queue; `ended`: also those that the controller has not forgotten yet.
/// unavailable, timeout: as in queued_jobs.
Result<std::vector<JobWords>> own_jobs(System& system, bool ended);
/// Those that accounting has seen since then (Unix seconds). Empty without accounting, or if it
/// keeps no command lines. unavailable, timeout: it does not answer.
Result<std::vector<JobWords>> own_recorded_jobs(System& system, double since_s);

/// Signals the batch script, which is the supervisor: it asks the ranks.
Result<Ok> signal_script(System& system, const std::string& id, const std::string& signal);
/// Signals the ranks: every step of the job, not the batch script.
Result<Ok> signal_steps(System& system, const std::string& id, const std::string& signal);
/// Cancels a job ("17"), a task of an array ("17_3") or a step ("17.0").
Result<Ok> cancel_job(System& system, const std::string& id,
                      std::chrono::seconds limit = slurm_limit);
/// Kills all ranks of a step ("17.0"). cancel_job() would give them KillWait, 30 s by default.
Result<Ok> kill_step(System& system, const std::string& id, std::chrono::seconds limit);
/// Requeues a job, which ends its processes: scontrol too if it runs in the job, without a message.
Result<CommandOutput> run_requeue(System& system, const std::string& id);
/// Sets the host list of nodes on which the job must not start.
Result<Ok> set_excluded_nodes(System& system, const std::string& id, const std::string& hosts,
                              std::chrono::seconds limit = slurm_limit);

/// The nodes of the partitions ("a,b") that can start jobs, each once; of these the ones of the
/// reservations ("r,s") if there are any. Empty: no answer.
std::vector<std::string> usable_nodes(System& system, const std::string& partitions,
                                      const std::string& reservations,
                                      std::chrono::seconds limit = slurm_limit);

/// The nodes of a host list; none if it is empty. nullopt: no answer.
std::optional<std::vector<SlurmNode>> nodes_of_controller(System& system, const std::string& hosts,
                                                          std::chrono::seconds limit = slurm_limit);

/// The host of an srun within a job that waits for resources of the ranks' step; empty: none, or no
/// answer.
std::string host_that_waits_for_a_step(System& system, const std::string& id);

// A busy controller with ten thousand nodes needs long, and without its answer there is no job:
// these wait, and tell the user so. An error names the command: "`scontrol show config` failed: ".

/// Cheap: ask it first, to detect a controller that does not answer. bad_request: this machine
/// belongs to no cluster.
Result<SlurmConfig> cluster_config(System& system);
/// Hidden ones too: they accept jobs.
Result<std::vector<Partition>> cluster_partitions(System& system);
Result<std::vector<SlurmNode>> cluster_nodes(System& system);

// Without these a job can still be submitted.

/// Of srun; empty if it does not list them.
std::vector<std::string> mpi_plugins(System& system);
/// Whether srun has the options of Pyxis.
bool has_pyxis(System& system);
/// `scontrol show topology`; empty: none is configured, or no answer.
std::string topology_text(System& system);
/// nullopt: no answer.
std::optional<std::vector<Reservation>> reservations(
    System& system, std::chrono::seconds limit = std::chrono::seconds(10));
/// The user's associations; nullopt: no answer.
std::optional<std::vector<Association>> associations(System& system, const std::string& user);
/// Empty if unknown.
std::string default_account(System& system, const std::string& user);

/// `sacct --parsable2` with the fields that jobs_of_accounting() asks for: the job, and its tasks
/// if it is an array.
std::vector<SlurmJob> parse_accounting(std::string_view text, const std::string& id);
/// Lines that begin with a job id. A task of an array has the array's, the component of a
/// heterogeneous job that of its first.
std::vector<JobWords> parse_job_words(std::string_view text);

}  // namespace dllaunch
