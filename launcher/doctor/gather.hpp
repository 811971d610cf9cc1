// Examines every node of a Slurm job through one srun.
#pragma once

#include "launcher/doctor/report.hpp"
#include "launcher/os/system.hpp"
#include "launcher/slurm/node_survey.hpp"

namespace dllaunch {

/// Runs `dllaunch doctor --node` beside the job's steps on all its nodes and merges the reports.
/// Nodes that do not answer in time are named. unavailable: srun cannot start, or no node answers;
/// includes srun's message.
Result<Report> examine_allocation(System& system, const Allocation& allocation, bool bench);

}  // namespace dllaunch
