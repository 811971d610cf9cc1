// The CPUs that the kernel lets this thread run on.
#pragma once

#include "support/id_set.hpp"

namespace dllaunch {

/// The mask of sched_getaffinity; empty if the call fails.
IdSet own_affinity();

}  // namespace dllaunch
