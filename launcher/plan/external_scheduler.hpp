// A job on a cluster run by PBS, LSF or Cobalt: dllaunch plans it and says what to type. Pure.
#pragma once

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/job/job.hpp"

namespace dllaunch {

struct LaunchPlan;

/// The job without what only a generated script can do: data is read in place ({stage}/x becomes
/// the source of that name), and there is no array.
Job for_external_scheduler(Job job);

/// Completes the plan with the line that starts the ranks there and the lines before it in the
/// user's job script; without sbatch options; with a warning for each part of `job`, as the user
/// wrote it, that has no effect there.
void start_elsewhere(const Job& job, const ClusterProfile& profile, LaunchPlan& plan);

}  // namespace dllaunch
