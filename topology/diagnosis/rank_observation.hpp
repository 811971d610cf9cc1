// Observations of running ranks and their node, independent of how they were made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/placement/placement.hpp"

namespace dllaunch {

using Environment = std::map<std::string, std::string>;

/// Policy for the threads' own allocations; modes named as in Linux.
struct MemoryPolicy {
  std::string mode = "unknown";  // default | local | prefer | bind | interleave | unknown
  IdSet nodes = {};              // empty for default and local
};

struct RankObservation {
  int pid = 0;
  int rank = -1;  // -1: a process that is not a rank; it counts as the only one of its node
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string launcher = "none";  // slurm | openmpi | pmix | pmi | torchrun | none
  std::string command = {};
  IdSet cpus = {};           // on which any of its threads may run
  IdSet main_cpus = {};      // those of its first thread
  int threads = 1;           // alive
  int runnable_threads = 0;  // running or waiting for a CPU at that moment
  int workers = 0;           // its child processes that are alive
  IdSet cpuset = {};         // its cgroup's CPUs; empty: unknown
  IdSet allowed_numa = {};   // Mems_allowed; empty: unknown
  MemoryPolicy memory = {};
  Environment environment = {};  // only variables for which matters_to_doctor() holds
  std::optional<std::uint64_t> locked_memory_bytes = {};  // soft limit; maximum value: unlimited
  std::optional<std::uint64_t> open_files = {};           // soft limit
  std::vector<std::string> gpu_libraries = {};  // GPU runtimes mapped: "libcudart.so.12", ...
  bool libraries_read = false;                  // false: gpu_libraries means nothing
  std::optional<IdSet> nvidia_devices = {};     // N of each /dev/nvidiaN that its cgroup allows
  std::vector<std::string> unread = {};         // "/proc/12/maps: Permission denied"
};

struct SharedMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

/// One node, with the ranks of one job on it.
struct NodeObservation {
  std::string host = {};
  std::string job = {};                            // "step 12.0"; empty: ranks of no job
  std::vector<RankObservation> ranks = {};         // by rank
  std::optional<SharedMemory> shared_memory = {};  // /dev/shm, if it exists
  std::optional<PlacementRequest> request = {};    // the request in the job's plan
  std::vector<IdSet> planned = {};                 // the plan's masks, by local rank
};

}  // namespace dllaunch
