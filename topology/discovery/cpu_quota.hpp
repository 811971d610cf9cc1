// How much CPU time control groups leave to this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// CPU time that all processes of a control group may use together.
struct CpuQuota {
  std::int64_t whole_cpus = 0;  // CPU time per time, rounded down
  std::int64_t group = 0;       // its folder's inode, the same for every process of the node
  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

/// Returns the whole CPUs of cpu.max ("250000 100000" is 2). nullopt: no limit ("max 100000"), or
/// damaged. Pure.
std::optional<std::int64_t> cpus_of_cpu_max(std::string_view text);

/// The same of cpu.cfs_quota_us (-1: no limit) and cpu.cfs_period_us, of version 1.
std::optional<std::int64_t> cpus_of_cfs(std::string_view quota, std::string_view period);

/// Returns the smallest quota of this process's control group and those above it; nullopt: none has
/// one. Of equal quotas, that of the outermost. `root`: of the file system.
std::optional<CpuQuota> own_cpu_quota(const std::string& root = "");

}  // namespace dllaunch
