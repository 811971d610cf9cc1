// What Slurm did to the job of one component.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/run/attempt.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

/// Slurm may end the job of one component of a heterogeneous job and leave the others; it signals
/// only its ranks. Corrects the cause of an attempt whose ranks died of that, and says so in
/// its detail; other jobs' attempts stay. Takes at most some seconds.
void look_at_own_job(System& system, const JobAllocation& allocation, Attempt& attempt);

}  // namespace dllaunch
