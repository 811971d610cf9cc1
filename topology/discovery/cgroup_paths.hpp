// Where a process stands in the control groups of its node.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// The process's folder below the mount of each hierarchy; empty where it is not named. Begins with
/// '/' and never leads out of the mount.
struct CgroupPaths {
  std::string unified;  // version 2
  std::string cpuset;   // version 1, and all that follow
  std::string devices;
  std::string memory;
};

/// Of /proc/PID/cgroup. Pure: damaged lines yield less, never nonsense.
CgroupPaths parse_proc_cgroup(std::string_view text);

}  // namespace dllaunch
