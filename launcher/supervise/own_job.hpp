// What Slurm did to the job while its ranks ended.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/run/attempt.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

/// Corrects the cause of an attempt whose ranks died because Slurm ended their job. A job that is
/// cancelled as it starts ends srun with an error before the supervisor hears of it. Slurm may end
/// the job of one component of a heterogeneous job and leave the others; it signals only its
/// ranks, and the attempt's detail says so. Takes at most some seconds.
void look_at_own_job(System& system, const JobAllocation& allocation, Attempt& attempt);

/// Corrects the cause of an attempt that a signal ended: Slurm's TERM may end the ranks before srun
/// prints its reason. There is little time left.
void look_who_cancelled(System& system, const JobAllocation& allocation, Attempt& attempt);

}  // namespace dllaunch
