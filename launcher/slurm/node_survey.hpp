// Queries every node of a job: the allocation, answers collected through one srun, and whether the
// node answers at all.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/overlap_step.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// A node's answer for standard output, split into short lines: srun interleaves the lines of nodes
/// and may split long ones.
std::string answer_lines(const std::string& host, const Json& document);

/// The documents in srun's output, by host. Skips those that arrived incomplete.
std::map<std::string, Json> read_answers(std::string_view output);

/// The allocation of the calling shell, from its environment.
struct Allocation {
  std::string job_id;
  std::vector<std::string> hosts;
};
/// nullopt outside an allocation, and inside a step, where the caller is one of the ranks. A step
/// of one task on a terminal counts as a shell (srun --pty bash). bad_request: the node list cannot
/// be read.
Result<std::optional<Allocation>> observe_allocation(System& system);

/// What the nodes of a job answered.
struct Survey {
  /// In the order of the hosts: the node's document, or srun's line on why there is none
  /// (unavailable).
  std::vector<std::pair<std::string, Result<Json>>> answers;
  std::string complaint;  // the first line of srun's errors, or that there was no answer
};

/// Runs one task on each host of a job and reads the document that each prints (answer_lines). The
/// error is srun's, if it cannot start or outlasts its own limit by `patience`.
Result<Survey> survey_nodes(System& system, const std::vector<std::string>& hosts,
                            const OverlapStep& step, const std::vector<std::string>& command,
                            std::chrono::seconds patience);

/// Where slurmd listens, unless a node says otherwise; 0: Slurm does not say within `limit`.
int slurmd_port(System& system, std::chrono::milliseconds limit);

struct SilentNodes {
  std::vector<std::string> names;
  bool refuse = false;  // all of them: they are up, but their daemons are not, or just restarted
};

/// Those whose daemon, slurmd, accepts no connection within `limit`: down, cut off, or without a
/// daemon, so that srun cannot start anything there. Slurm itself takes SlurmdTimeout to mark them
/// down, and meanwhile says of nodes that are well that they do not respond: its messages to them
/// go through others. Its word counts only where a connection says nothing. nullopt: Slurm does not
/// say where the daemons listen, nor of any node that it does not respond.
std::optional<SilentNodes> silent_nodes(System& system, const std::vector<SlurmNode>& nodes,
                                        std::chrono::milliseconds limit);

}  // namespace dllaunch
