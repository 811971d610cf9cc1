// Reads a process's CPU binding, and sets it before exec. Part of runtime_core: no MPI.
#pragma once

#include <string>

#include "support/id_set.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The CPUs that the calling thread may run on (sched_getaffinity; any number of CPUs).
Result<IdSet> current_binding();

/// Cpus_allowed_list of another process, from /proc/PID/status. unavailable: no such process.
Result<IdSet> binding_of(int pid);

/// Binds the calling thread, and thereby the threads and programs it starts later. Call it before
/// threads exist.
/// bad_request: an empty set. unsatisfiable: the kernel refuses (CPUs outside the cgroup); names
/// both sets.
Result<Ok> apply_binding(const IdSet& cpus);

}  // namespace dllaunch
