// The unit of --cpus-per-task on a cluster: hardware threads or cores. Pure.
#pragma once

#include <string>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"

namespace dllaunch {

struct CpusPerTaskUnit {
  int usable = 1;                     // per node, for jobs
  int core = 1;                       // how many make a core
  std::string threads_per_core = {};  // written out, so that no default changes the unit
};

/// Slurm counts threads, unless the job requests one per core with --threads-per-core=1 or
/// --hint=nomultithread. `in_cores`: where a site makes that the default (the profile's `cpus_are:
/// cores`), a count of threads would request twice the available cores, and where the cluster is
/// not known, nobody knows what it counts. So the unit is written out.
CpusPerTaskUnit cpus_per_task_unit(const Job& job, bool in_cores, const NodeType& type);

}  // namespace dllaunch
