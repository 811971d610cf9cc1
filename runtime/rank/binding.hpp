// The CPUs of a process: read, and set before exec. Part of runtime_core: no MPI.
#pragma once

#include <string>

#include "support/id_set.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// CPUs the calling thread may run on (sched_getaffinity; any number of CPUs).
Result<IdSet> current_binding();

/// Cpus_allowed_list of another process, from /proc/PID/status. unavailable: no such process.
Result<IdSet> binding_of(int pid);

/// Binds the calling thread, and with it all it starts later and what it execs. Call before threads
/// exist. bad_request: an empty set. unsatisfiable: the kernel refuses (CPUs outside the cgroup),
/// with both sets.
Result<Ok> apply_binding(const IdSet& cpus);

}  // namespace dllaunch
