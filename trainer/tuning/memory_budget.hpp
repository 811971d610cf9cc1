// How much memory this process may still take: what the node has free, and what limits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// Bytes after "NAME:" of /proc/meminfo, which counts in KiB. nullopt: no such line.
std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view name);

/// A file that holds one number of bytes. nullopt: "max", or anything else that is no number.
std::optional<std::int64_t> limit_bytes(std::string_view text);

/// What processes of this node may still take together, of the two least: MemAvailable, and what
/// limits of this process's cgroup and of those above it leave, file cache counted as free. Files
/// are read below `root`. Never negative; where neither is known the largest there is.
std::int64_t node_memory_left(const std::string& root = "");

/// What RLIMIT_AS and RLIMIT_DATA (`ulimit -v`, `-d`) leave this process; without them the largest
/// there is.
std::int64_t own_memory_left();

/// Bytes of memory this process holds now (VmRSS).
std::int64_t resident_bytes();

}  // namespace dllaunch
