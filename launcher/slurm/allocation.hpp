// The job's allocation, and what the supervisor asks Slurm about it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/exclusion.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

/// Set by a component's script of a heterogeneous job: its number in the job, "1".
inline constexpr const char* het_group_variable = "DLLAUNCH_HET_GROUP";

/// This process's own job: of a component, not that of the script. Empty outside Slurm.
std::string own_job_id(System& system);

struct JobAllocation {
  std::string job = {};              // empty outside Slurm
  std::string name = {};             // "74_3" for an array task; "74" would mean the whole array
  int restarts = 0;                  // how often it was requeued
  std::string nodes = {};            // a host list
  std::string host = {};             // this process's node, by its Slurm name
  std::optional<double> end_s = {};  // Unix seconds; nullopt: no limit, or unknown
  std::optional<int> cpus_per_node = {};  // of the node with the fewest; nullopt: unknown
  /// Of a component of a heterogeneous job: its number in it, and the job of the first component,
  /// which has the script and by which srun and requeues know the whole. Empty: another job.
  std::string group = {};
  std::string leader = {};
};

/// As Slurm's commands call it.
std::string name_of(const JobAllocation& allocation);

/// The allocation, read from a batch script's environment. Asks Slurm only for what is missing
/// there.
JobAllocation read_allocation(System& system);

/// Slurm's current record of the job; nullopt if it does not answer in time.
std::optional<SlurmJob> ask_of_job(System& system, const JobAllocation& allocation,
                                   std::chrono::seconds limit = std::chrono::seconds(20));

/// The job's end time, from Slurm's record.
std::optional<double> end_of(const SlurmJob& job);

/// How long the job was queued before this start, counted from `since_s` (Unix seconds) at the
/// earliest; nullopt if Slurm does not say.
std::optional<double> queue_seconds(const SlurmJob& job, double since_s);

/// Nodes that do not respond and that Slurm has not marked down yet.
struct NodesInDoubt {
  bool wait = true;
  std::vector<std::string> silent = {};  // besides those that Slurm knows not to respond
};

/// Requeues the job, which ends its processes. timeout: Slurm does not answer, or a node is in
/// doubt. unavailable: Slurm refuses. bad_request: the job was requeued or cancelled already.
///
/// A job with a node in doubt is not requeued: it could not start until Slurm marks the node down,
/// and Slurm 22.05 never starts a job that was requeued before then (BadConstraints, "never
/// runnable"; a release does not help). Jobs that Slurm itself requeues for that node start
/// elsewhere.
Result<Ok> requeue(System& system, const JobAllocation& allocation, const NodesInDoubt& nodes = {});

/// Excludes nodes from the requeued job's next start. Slurm refuses this while the job runs.
Result<Ok> exclude_nodes(System& system, const JobAllocation& allocation, const Exclusion& wanted);

struct NodesLeft {
  std::vector<std::string> there = {};   // in the order given
  std::vector<std::string> gone = {};    // removed from the job, down, or silent, but for this one
  std::vector<std::string> silent = {};  // of these: Slurm has not noticed it yet
};
/// The state of the job's nodes, by Slurm and by a connection to each. nullopt: no answer, the job
/// is ending, or it has started anew.
std::optional<NodesLeft> nodes_left(System& system, const JobAllocation& allocation,
                                    std::chrono::seconds limit = std::chrono::seconds(20));

struct NodesOutOfOrder {
  std::string names = {};  // a host list; empty: there are none
  bool down = false;       // by Slurm's word
  bool refuse = false;     // they are up, but their slurmd is not, or is being restarted
};
/// Those of the job's nodes that Slurm counts as down, else those that do not answer. nullopt:
/// Slurm does not answer in time, so nothing is known but of the `daemons`.
std::optional<NodesOutOfOrder> nodes_out_of_order(
    System& system, const JobAllocation& allocation,
    std::chrono::seconds limit = std::chrono::seconds(20),
    const std::vector<SlurmNode>& daemons = {});

/// The job's nodes with the ports of their daemons, for when Slurm does not answer; empty: it does
/// not.
std::vector<SlurmNode> daemons_of(System& system, const JobAllocation& allocation,
                                  std::chrono::seconds limit);

}  // namespace dllaunch
