// What limits the memory of a process besides the node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

struct CgroupMemory {
  std::int64_t limit_bytes = 0;
  std::int64_t used_bytes = 0;  // by all processes in it; file cache counts as free
};

/// Returns the limit that leaves the least: of the process's cgroup or one above it (version 1 or
/// 2). `process`: its id, or "self". Reads files below `root`. nullopt: none has a limit.
std::optional<CgroupMemory> cgroup_memory(const std::string& process, const std::string& root = "");

/// Parses a file with one number of bytes. nullopt: "max" or not a number.
std::optional<std::int64_t> limit_bytes(std::string_view text);

}  // namespace dllaunch
