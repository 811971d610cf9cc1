// Asking every node of a job: the allocation, and answers that arrive through one srun.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "support/json.hpp"

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

/// srun's line that names the host, else the first that says anything, else `otherwise`. An empty
/// host is named by no line.
std::string why_silent(const std::string& host, std::string_view complaints,
                       const std::string& otherwise);

}  // namespace dllaunch
