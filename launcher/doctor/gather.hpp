// Asking every node of a Slurm job: one srun, one short answer a node.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/doctor/report.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// A node's answer on standard output, cut into short lines: srun mixes the lines of many nodes,
/// and may cut long ones.
std::string answer_lines(const std::string& host, const Json& document);

/// The documents in srun's output, by host; those that arrived whole.
std::map<std::string, Json> read_answers(std::string_view output);

/// The job that the caller's shell has been given, from its environment.
struct Allocation {
  std::string job_id;
  std::vector<std::string> hosts;
};
/// Nothing outside an allocation, and inside a step: there the caller is one of the ranks. A step
/// of one task on a terminal is somebody's shell (srun --pty bash).
/// bad_request: a node list that cannot be read.
Result<std::optional<Allocation>> observe_allocation(System& system);

/// Runs `dllaunch doctor --node` beside the job's steps on all its nodes and merges what they say.
/// A node that does not answer in time is named in the report.
/// unavailable: srun cannot start, or no node answers, with srun's own words.
Result<Report> examine_allocation(System& system, const Allocation& allocation, bool bench);

}  // namespace dllaunch
