// Parses what Slurm's commands print: partitions, nodes, reservations, jobs, configuration.
// Runs no command. Accepts Slurm 20.11 to 25.x: skips unknown fields, defaults missing ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/slurm/partition.hpp"
#include "launcher/slurm/slurm_time.hpp"

namespace dllaunch {

/// `scontrol show config`
struct SlurmConfig {
  std::string version;  // "22.05.8"
  std::string cluster;
  std::string mpi_default;            // "none", "pmix"
  std::vector<std::string> enforced;  // AccountingStorageEnforce: "associations", "limits", ...
  std::vector<std::string> submit_plugins;  // JobSubmitPlugins: "lua", ...
  int slurmd_port = 0;                      // of nodes that have no other; 0: unknown
};
SlurmConfig parse_slurm_config(std::string_view text);

/// `srun --mpi=list` on stdout or stderr (depends on the version): "none", "pmi2", "pmix", ...
std::vector<std::string> parse_mpi_list(std::string_view text);

/// `scontrol show partition`, one or several lines per partition. Without nodes.
std::vector<Partition> parse_slurm_partitions(std::string_view text);

/// `scontrol show node`, one or several lines per node.
struct SlurmNode : NodeType {  // without hosts; its CPUs are those usable by jobs
  std::string name;
  std::vector<std::string> partitions;
  std::string address;  // of its daemon: a name or a number
  int port = 0;         // likewise; 0: SlurmConfig::slurmd_port
  std::string state;    // "IDLE+DRAIN": a state and its flags
  std::string reason;   // why the node was drained or set down, without user and time
};
/// Sets a node's GPU fields from its Gres.
void take_gpus(std::string_view gres, SlurmNode& node);
/// Whether the node starts no jobs until it is repaired: down, drained, not responding, unknown.
bool is_out_of_order(std::string_view node_state);
/// Whether the node's processes are lost or unreachable. Drained nodes finish what they run.
bool is_gone(std::string_view node_state);
/// Whether the node does not respond but is not marked down yet (SlurmdTimeout, usually 300 s).
bool is_in_doubt(std::string_view node_state);
std::vector<SlurmNode> parse_slurm_nodes(std::string_view text);

/// `scontrol show reservation`, one or several lines each. Times that are not set are 0; Slurm
/// prints them in this machine's time zone.
std::vector<Reservation> parse_slurm_reservations(std::string_view text);

/// `sacctmgr --noheader --parsable2 show associations format=Account,Partition,QOS`
/// The host of an srun that waits for its step in a job, one of whose steps runs; empty: there is
/// none. `text`: of `scontrol show step JOB`.
std::string host_of_waiting_step(std::string_view text);
std::vector<Association> parse_associations(std::string_view text);

/// What Slurm reports about a job's origin; compared in job_identity.hpp.
struct JobOrigin {
  /// "COMMENT|NAME|COMMAND", as users wrote them, without fields that Slurm does not report.
  std::string words = {};
  std::string token = {};  // of the submission by dllaunch, from the comment; empty: none
};

/// The last "dllaunch:" followed by 16 hexadecimal digits; empty: none.
std::string token_in(std::string_view text);

/// The argument of `squeue --noheader --format=`. User text appears only from the comment on.
constexpr std::string_view queue_format = "%i|%T|%S|%M|%N|%r|%k|%j|%o";
struct QueuedJob {
  std::string id;     // "123", "123_4", "74_[0-3%2]"
  std::string state;  // "PENDING", "RUNNING", ...
  std::string start;  // "2026-11-20T19:57:21"; empty if Slurm cannot say
  std::string elapsed;
  std::string nodes;   // a host list; empty while pending
  std::string reason;  // "Priority"; empty for None
  JobOrigin origin = {};
};
std::vector<QueuedJob> parse_queue(std::string_view text);
/// Slurm shows the component of a heterogeneous job as JOB+OFFSET, "12+1", and numbers it after the
/// others: "13". Other ids stay.
std::string job_number(std::string_view shown);

/// `scontrol show job ID`
struct SlurmJob {
  std::string id;
  std::string state;   // "COMPLETED", "TIMEOUT", "NODE_FAIL", ...
  std::string reason;  // empty for None
  int exit_code = 0;
  int signal = 0;
  int restarts = 0;
  std::string partition;    // "a,b": one of these
  std::string reservation;  // likewise
  std::string nodes;        // a host list
  std::string excluded;     // ExcNodeList, another
  std::string batch_host;   // empty while pending
  std::string start;        // as QueuedJob::start
  std::string submit;
  std::string end;       // the time limit, while the job runs
  std::string output;    // StdOut
  std::string name;      // only from scontrol, as the next two
  std::string work_dir;  // in which it was submitted, or --chdir
  std::optional<std::uint32_t> user = {};
  std::string array_job;   // the id of the array that a task belongs to
  std::string array_task;  // task index, "3"; tasks that are pending together: "2-9%2"
  JobOrigin origin = {};
  std::string cancelled_by;  // user name or uid; only from accounting
  std::string lost;          // after NODE_FAIL: its nodes that are down, a host list; only from
                             // jobs_of_controller()
};
std::vector<SlurmJob> parse_slurm_jobs(std::string_view text);
/// Whether the job has not run yet or will run again: "PENDING", "CONFIGURING", "REQUEUED", ...
bool is_waiting_state(std::string_view state);
/// Whether the job will not run again: COMPLETED, FAILED, TIMEOUT, ...
bool is_final_state(std::string_view state);

}  // namespace dllaunch
