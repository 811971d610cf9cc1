// Memory that this process may still allocate: free memory of the node, and limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// Returns the value of the line "NAME:" in /proc/meminfo (KiB) in bytes. nullopt: no such line.
std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view name);

/// Returns the bytes that processes on this node may still allocate together: the minimum of
/// MemAvailable and what the limits of this process's cgroup and its ancestors leave (file cache
/// counts as free). Reads files below `root`. Never negative; the maximum if unknown.
std::int64_t node_memory_left(const std::string& root = "");

/// Returns the bytes that RLIMIT_AS and RLIMIT_DATA (`ulimit -v`, `-d`) leave this process; the
/// maximum without limits.
std::int64_t own_memory_left();

/// Returns the bytes that this rank may still allocate: nine tenths of an equal share of the
/// node's, or of what its own limits leave. The rest is a margin for memory that is not counted.
std::int64_t rank_memory_left(int ranks_on_node);

/// Returns the resident memory of this process in bytes (VmRSS).
std::int64_t resident_bytes();

}  // namespace dllaunch
