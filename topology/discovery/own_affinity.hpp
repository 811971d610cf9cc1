// The CPUs that the kernel lets this thread run on.
#pragma once

#include "support/id_set.hpp"

namespace dllaunch {

/// What sched_getaffinity says; empty when it says nothing.
IdSet own_affinity();

}  // namespace dllaunch
