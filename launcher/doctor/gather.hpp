// Asking every node of a Slurm job: one srun, one short answer a node.
#pragma once

#include "launcher/doctor/report.hpp"
#include "launcher/os/system.hpp"
#include "launcher/slurm/node_survey.hpp"

namespace dllaunch {

/// Runs `dllaunch doctor --node` beside the job's steps on all its nodes and merges what they say.
/// A node that does not answer in time is named in the report.
/// unavailable: srun cannot start, or no node answers, with srun's own words.
Result<Report> examine_allocation(System& system, const Allocation& allocation, bool bench);

}  // namespace dllaunch
