// Queries every node of a job: the allocation, and answers collected through one srun.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
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

/// The first line of srun's output that names the host, else its first non-empty line, else
/// `otherwise`. No line names an empty host.
std::string why_silent(const std::string& host, std::string_view complaints,
                       const std::string& otherwise);

}  // namespace dllaunch
