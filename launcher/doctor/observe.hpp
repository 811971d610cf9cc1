// Observes running processes through /proc (Linux only). The only part of doctor that accesses
// them.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/ranks_of_job.hpp"
#include "support/result.hpp"
#include "topology/diagnosis/rank_observation.hpp"

namespace dllaunch {

/// `root` is put before every path, so that a recorded tree can be read: "" is this machine.

/// One process and its threads. What another user's process keeps to itself is listed in `unread`.
/// unavailable: it is gone, or it went while it was looked at.
Result<RankObservation> observe_process(const std::string& root, int pid);

/// Every process whose environment can be read, in no order. Those that vanish meanwhile are left
/// out.
std::vector<JobProcess> observe_job_processes(const std::string& root);

/// /dev/shm; nothing where it is not a file system of its own or cannot be asked.
std::optional<SharedMemory> observe_shared_memory();

}  // namespace dllaunch
