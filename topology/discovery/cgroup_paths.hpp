// The control groups of a process.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// The process's folder below the mount of each hierarchy; empty if it is not listed. Begins with
/// '/' and never leads out of the mount.
struct CgroupPaths {
  std::string unified;  // version 2
  std::string cpu;      // version 1, like all that follow
  std::string cpuset;
  std::string devices;
  std::string memory;
};

/// Parses /proc/PID/cgroup. Skips damaged lines. Pure.
CgroupPaths parse_proc_cgroup(std::string_view text);

}  // namespace dllaunch
