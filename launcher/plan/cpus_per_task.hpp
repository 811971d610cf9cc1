// What --cpus-per-task counts on a cluster: hardware threads, or cores. Pure.
#pragma once

#include <string>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"

namespace dllaunch {

struct ClusterProfile;

struct CpusPerTaskUnit {
  int usable = 1;                     // of a node, for jobs
  int core = 1;                       // that many are one core
  std::string threads_per_core = {};  // to be written, so that nobody's default counts otherwise
};

/// Slurm counts threads, unless the job asks for one of each core with --threads-per-core=1 or
/// --hint=nomultithread. Where a site makes every job do so (the profile's `cpus_are: cores`) a
/// count of threads asks for twice the cores that are there: then it is said which is meant.
/// `profile` may be null.
CpusPerTaskUnit cpus_per_task_unit(const Job& job, const ClusterProfile* profile,
                                   const NodeType& type);

}  // namespace dllaunch
