// Carries out a sweep in one Slurm job, whose nodes the trials share.
#pragma once

#include "launcher/os/system.hpp"
#include "launcher/sweep/prepare_sweep.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Runs the sweep inside the job `prepared.shared`. Waits for the job's
/// end and takes its trials into `prepared`. The job goes on when this process is killed or its
/// terminal closes; the same request follows it.
Result<int> run_sweep_in_one_job(System& system, const SweepRequest& request,
                                 PreparedSweep& prepared);

}  // namespace dllaunch
