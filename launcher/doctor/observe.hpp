// Observes running processes through /proc (Linux only). The only part of doctor that accesses
// them.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/ranks_of_job.hpp"
#include "support/result.hpp"
#include "topology/diagnosis/rank_observation.hpp"

namespace dllaunch {

/// `root` is the prefix of every path, for recorded trees: "" is this machine.

/// One process and its threads. Files that another user's process denies are listed in `unread`.
/// unavailable: the process is gone, or ended meanwhile.
Result<RankObservation> observe_process(const std::string& root, int pid);

/// Every process whose environment is readable, in no order. Omits those that end meanwhile.
std::vector<JobProcess> observe_job_processes(const std::string& root);

/// /dev/shm; nothing if it is not a separate file system or statfs fails.
std::optional<SharedMemory> observe_shared_memory();

}  // namespace dllaunch
