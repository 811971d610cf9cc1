// Applies a cluster profile to a job. Pure.
#pragma once

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/job/job.hpp"

namespace dllaunch {

struct LaunchPlan;

/// The job with the profile's defaults; the user's own settings win. Adds modules before the
/// user's, variables that the user has not set, options that the user has neither given nor
/// removed, and container mounts. The constraint is that of the node type selected by partition and
/// device; a partition that only stands for a constraint is removed.
Job with_profile(Job job, const ClusterProfile& profile);

/// Completes the plan from the profile. On other schedulers: with the line that starts the ranks
/// there, and without sbatch options.
void finish_plan(const Job& job, const ClusterProfile& profile, LaunchPlan& plan);

}  // namespace dllaunch
