// What Slurm has given the job, and the few things a supervisor asks of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {

struct JobAllocation {
  std::string job = {};              // empty: none, no Slurm
  std::string name = {};             // "74_3" of an array's task: 74 alone would be all of them
  int restarts = 0;                  // how often it was put back into the queue
  std::string nodes = {};            // a host list
  std::string host = {};             // of this process, as Slurm calls it
  std::optional<double> end_s = {};  // Unix seconds; nothing: no limit, or nobody says
};

/// From the environment of a batch script; asks Slurm only for what is not there.
JobAllocation read_allocation(System& system);

/// The job as Slurm has it now; nothing where it does not answer in time.
std::optional<SlurmJob> ask_of_job(System& system, const JobAllocation& allocation,
                                   std::chrono::seconds limit = std::chrono::seconds(20));

/// When it ends, by Slurm's record.
std::optional<double> end_of(const SlurmJob& job);

/// How long it was in the queue before this start, though not before `since_s` (Unix seconds);
/// nothing where Slurm does not say.
std::optional<double> queue_seconds(const SlurmJob& job, double since_s);

/// Nodes that do not answer and that Slurm has not called down yet.
struct NodesInDoubt {
  bool wait = true;
  std::vector<std::string> silent = {};  // beside those that Slurm itself misses
};

/// Puts the job back into the queue, which ends what runs of it. timeout: Slurm does not answer, or
/// a node is in doubt; unavailable: it refuses; bad_request: the job is back already, or somebody
/// has ended it.
///
/// Until Slurm calls the node down the job could not start again anyway: it is not over there. And
/// what is put back before that, Slurm 22.05 never starts again (BadConstraints, "never runnable",
/// which no release lifts), while what Slurm itself puts back for that node starts elsewhere.
Result<Ok> requeue(System& system, const JobAllocation& allocation, const NodesInDoubt& nodes = {});

/// Of a job that was put back, whose start this was: it is not to start on these again (a host
/// list). A job that runs would refuse.
Result<Ok> exclude_nodes(System& system, const JobAllocation& allocation, const std::string& nodes);

struct NodesLeft {
  std::vector<std::string> there = {};  // in the order in which they were given
  std::vector<std::string> gone = {};   // taken out of the job, down, or silent
};
/// Of the job's nodes. Nothing: no answer, or the job is ending or in another start of its own.
std::optional<NodesLeft> nodes_left(System& system, const JobAllocation& allocation,
                                    std::chrono::seconds limit = std::chrono::seconds(20));

/// The first of the job's nodes that Slurm counts as down; empty: none, or no answer.
std::string node_out_of_order(System& system, const JobAllocation& allocation);

}  // namespace dllaunch
