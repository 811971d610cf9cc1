// Ends ranks that outlived their starter, for example after srun was killed. The next srun would
// wait for them forever.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

/// The job's steps, "17.3", to which processes of the run on this machine belong.
std::vector<std::string> steps_of_run(const RunDir& run, const JobAllocation& allocation);

/// Through Slurm, which reaches all nodes of a step; what it refuses is said.
void end_steps(System& system, const std::vector<std::string>& steps);

/// Ends what there is of them, here and, through Slurm, on the job's other nodes. Called where none
/// should be: while no starter runs. Says whom it met.
void end_orphan_ranks(System& system, const RunDir& run, const JobAllocation& allocation);

}  // namespace dllaunch
