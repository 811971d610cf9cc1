// What Slurm's commands print, as values. Pure; Slurm 20.11 to 25.x: a field that is missing keeps
// its default, a field that is new is passed over, text that makes no sense yields nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/slurm/gres.hpp"

namespace dllaunch {

/// `scontrol show config`
struct SlurmConfig {
  std::string version;  // "22.05.8"
  std::string cluster;
  std::string mpi_default;            // "none", "pmix"
  std::vector<std::string> enforced;  // AccountingStorageEnforce: "associations", "limits", ...
  std::vector<std::string> submit_plugins;  // JobSubmitPlugins: "lua", ...
};
SlurmConfig parse_slurm_config(std::string_view text);

/// `srun --mpi=list` on stdout or stderr (it moved): "none", "pmi2", "pmix", "pmix_v4", ...
std::vector<std::string> parse_mpi_list(std::string_view text);

/// `scontrol show partition`, one line a partition or several.
struct SlurmPartition {
  std::string name;
  bool is_default = false;
  bool up = true;
  std::optional<int> max_minutes;  // absent: no limit
  std::string state = "UP";        // UP, DOWN, DRAIN, INACTIVE
  std::optional<int> default_minutes;
  int min_nodes = 0;
  std::optional<int> max_nodes;
  // Empty: all, and none.
  std::vector<std::string> allow_accounts, deny_accounts, allow_qos, deny_qos, allow_groups;
};
std::vector<SlurmPartition> parse_slurm_partitions(std::string_view text);

/// `scontrol show node`, one line a node or several.
struct SlurmNode {
  std::string name;
  std::vector<std::string> partitions;
  int cpus =
      0;  // that jobs may use: CPUEfctv where Slurm says it, else CPUTot less the specialised
  int sockets = 1;
  int cores_per_socket = 1;
  int threads_per_core = 1;
  std::uint64_t memory_mib = 0;
  int gpus = 0;                   // whole ones; slices where there is nothing else
  std::string gpu_type;           // empty where Slurm has none; of several the first
  std::vector<GpuGres> gpu_gres;  // all, where there are several
  std::vector<std::string> features;
  std::string state;   // "IDLE+DRAIN": a state and its flags
  std::string reason;  // why an administrator, or Slurm, took it out; without who and when
};
/// Reads a node's Gres into its fields.
void take_gpus(std::string_view gres, SlurmNode& node);
/// It can start nothing until somebody mends it: down, drained, not answering, unknown.
bool is_out_of_order(std::string_view node_state);
/// What ran there is gone, or nobody hears of it. Drained nodes run what they have to its end.
bool is_gone(std::string_view node_state);
/// Nobody hears of it, and Slurm has not called it down yet (SlurmdTimeout, 300 s mostly).
bool is_in_doubt(std::string_view node_state);
std::vector<SlurmNode> parse_slurm_nodes(std::string_view text);

/// `scontrol show reservation`, one line each or several. Times are Unix seconds, 0 where Slurm has
/// none; Slurm prints them in this machine's time zone.
struct SlurmReservation {
  std::string name;
  std::string state;  // "ACTIVE", "INACTIVE"
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string nodes;  // a host list
  std::string partition;
  std::vector<std::string> users;  // "-name": all but this one
  std::vector<std::string> accounts;
  std::vector<std::string> groups;
  std::vector<std::string> flags;
};
std::vector<SlurmReservation> parse_slurm_reservations(std::string_view text);

/// "2026-11-20T19:57:21" in this machine's time zone. nullopt: not a time.
std::optional<std::int64_t> parse_slurm_time(std::string_view text);

/// `sacctmgr --noheader --parsable2 show associations format=Account,Partition,QOS`
struct SlurmAssociation {
  std::string account;
  std::string partition;  // empty: any
  std::vector<std::string> qos;
};
std::vector<SlurmAssociation> parse_associations(std::string_view text);

/// What Slurm tells of where a job comes from; job_identity.hpp compares it.
struct JobOrigin {
  /// "COMMENT|NAME|COMMAND", as users wrote them; without what Slurm does not say. Empty: nothing.
  std::string words = {};
  std::string token = {};  // of a submission by dllaunch, from the comment; empty: there is none
};

/// The last "dllaunch:" with 16 hexadecimal digits in a text; empty: none.
std::string token_in(std::string_view text);

/// `squeue --noheader --format=` this: before the comment no field holds what a user wrote.
constexpr std::string_view queue_format = "%i|%T|%S|%M|%N|%r|%k|%j|%o";
struct QueuedJob {
  std::string id;     // "123", "123_4", "74_[0-3%2]"
  std::string state;  // "PENDING", "RUNNING", ...
  std::string start;  // "2026-11-20T19:57:21"; empty when Slurm cannot say
  std::string elapsed;
  std::string nodes;   // a host list; empty while pending
  std::string reason;  // "Priority"; empty for None
  JobOrigin origin = {};
};
std::vector<QueuedJob> parse_queue(std::string_view text);

/// `scontrol show job ID`
struct SlurmJob {
  std::string id;
  std::string state;   // "COMPLETED", "TIMEOUT", "NODE_FAIL", ...
  std::string reason;  // empty for None
  int exit_code = 0;
  int signal = 0;
  int restarts = 0;
  std::string nodes;       // a host list
  std::string excluded;    // ExcNodeList, another
  std::string batch_host;  // empty while pending
  std::string start;       // as QueuedJob::start
  std::string submit;
  std::string end;         // while it runs, the time limit
  std::string output;      // StdOut
  std::string array_job;   // of an array's task: the array's id, and
  std::string array_task;  // its number, "3"; of tasks that wait together "2-9%2"
  JobOrigin origin = {};
  std::string cancelled_by;  // a user's name or number; from accounting only
};
std::vector<SlurmJob> parse_slurm_jobs(std::string_view text);

/// Slurm's way to write a duration: "30" (minutes), "30:00", "1:30:00", "2-12", "2-12:30",
/// "2-12:30:00". Seconds round up to a minute. nullopt: not a duration. "UNLIMITED" and "infinite"
/// are no durations either; ask is_unlimited().
std::optional<int> parse_slurm_minutes(std::string_view text);
bool is_unlimited(std::string_view text);

}  // namespace dllaunch
