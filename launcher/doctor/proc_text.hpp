// Parsers for /proc and /sys/fs/cgroup. Pure. Damaged text yields missing values, never wrong ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/diagnosis/rank_observation.hpp"

namespace dllaunch {

/// /proc/PID/status, or that of one thread.
struct ProcStatus {
  std::string name;
  char state = '?';  // R running or ready, S sleeping, D in the kernel, Z dead but not reaped
  int parent = 0;
  int threads = 0;
  IdSet cpus;  // Cpus_allowed_list
  IdSet numa;  // Mems_allowed_list
};
/// Returns nullopt if the lines of the name and the CPUs are missing.
std::optional<ProcStatus> parse_proc_status(std::string_view text);

/// /proc/PID/environ; of a duplicate name the first counts, as for getenv.
Environment parse_proc_environment(std::string_view text);

/// The program's name in /proc/PID/cmdline, without its folder; for an interpreter also its first
/// argument: "python train.py".
std::string command_in(std::string_view cmdline);

/// The soft limits of /proc/PID/limits; unlimited is the largest number.
struct ProcLimits {
  std::optional<std::uint64_t> locked_memory_bytes;
  std::optional<std::uint64_t> open_files;
};
ProcLimits parse_proc_limits(std::string_view text);

/// GPU runtimes in /proc/PID/maps: CUDA, HIP and Level Zero, by file name, each once, sorted.
std::vector<std::string> gpu_libraries_in(std::string_view maps);

/// The policy of the process in /proc/PID/numa_maps: that of its heap, else of its stack, else of
/// the first mapping.
MemoryPolicy parse_numa_maps(std::string_view text);

/// devices.list of cgroup version 1: N of every /dev/nvidiaN that may be opened; nullopt if all
/// devices may be opened.
std::optional<IdSet> nvidia_devices_in(std::string_view devices_list);

}  // namespace dllaunch
