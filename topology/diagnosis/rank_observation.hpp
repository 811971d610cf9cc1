// What was seen of one running rank, and of the node it runs on: values, whoever looked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/placement/placement.hpp"

namespace dllaunch {

using Environment = std::map<std::string, std::string>;

/// Of the threads' own allocations, as Linux names the modes.
struct MemoryPolicy {
  std::string mode = "unknown";  // default | local | prefer | bind | interleave | unknown
  IdSet nodes = {};              // empty for default and local
};

struct RankObservation {
  int pid = 0;
  int rank = -1;  // -1: a process that is no rank; it counts as the only one of its node
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string launcher = "none";  // slurm | openmpi | pmix | pmi | torchrun | none
  std::string command = {};
  IdSet cpus = {};               // that any of its threads may run on
  IdSet main_cpus = {};          // those of its first thread
  int threads = 1;               // alive
  int runnable_threads = 0;      // running or waiting for a CPU when looked at
  int workers = 0;               // processes it has started that still run
  IdSet cpuset = {};             // its cgroup's CPUs; empty: not known
  IdSet allowed_numa = {};       // Mems_allowed; empty: not known
  MemoryPolicy memory = {};      //
  Environment environment = {};  // only names that matter: matters_to_doctor()
  std::optional<std::uint64_t> locked_memory_bytes = {};  // soft limit; the largest: unlimited
  std::optional<std::uint64_t> open_files = {};           // soft limit
  std::vector<std::string> gpu_libraries = {};  // GPU runtimes mapped: "libcudart.so.12", ...
  bool libraries_read = false;                  // else gpu_libraries says nothing
  std::optional<IdSet> nvidia_devices = {};     // N of /dev/nvidiaN that its cgroup lets it open
  std::vector<std::string> unread = {};         // "/proc/12/maps: Permission denied"
};

struct SharedMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

/// One node, with the ranks of one job on it.
struct NodeObservation {
  std::string host = {};
  std::string job = {};                            // "step 12.0"; empty: ranks of none
  std::vector<RankObservation> ranks = {};         // by rank
  std::optional<SharedMemory> shared_memory = {};  // /dev/shm; absent: there is none
  std::optional<PlacementRequest> request = {};    // what the job's plan asked for
  std::vector<IdSet> planned = {};                 // the plan's masks, by local rank
};

}  // namespace dllaunch
