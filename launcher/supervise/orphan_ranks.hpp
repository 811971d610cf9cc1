// Ends ranks that outlived their starter, for example after srun was killed. The next srun would
// wait for them forever.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

/// Returns the job's steps, such as "17.3", that own processes of the run on this machine.
std::vector<std::string> steps_of_run(const RunDir& run, const JobAllocation& allocation);

/// Kills the run's ranks on this machine. scancel has no effect on a node without slurmd, and takes
/// seconds while Slurm itself is ending the step.
void kill_ranks_here(const RunDir& run, const JobAllocation& allocation);

/// Kills the ranks of the steps through Slurm, on all their nodes. Logs refusals.
void end_steps(System& system, const std::vector<std::string>& steps);

/// Ends orphan ranks here and, through Slurm, on the job's other nodes. Call only while no starter
/// runs. Logs what it found.
void end_orphan_ranks(System& system, const RunDir& run, const JobAllocation& allocation);

}  // namespace dllaunch
