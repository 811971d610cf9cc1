// A job on a cluster of which a profile is known. Pure.
#pragma once

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/job/job.hpp"
#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// The job with what the profile adds below the user's own words: modules before the user's,
/// variables that the user has not set, options that the user has neither given nor taken away,
/// mounts of a container. A constraint is that of the node which partition and device mean; the
/// name of a partition that only stands for a constraint is taken out.
Job with_profile(Job job, const ClusterProfile& profile);

/// The plan with what the profile says of it beyond the job. Where another scheduler runs the
/// cluster: the line that starts the ranks there, and no sbatch options.
void finish_plan(const Job& job, const ClusterProfile& profile, LaunchPlan& plan);

}  // namespace dllaunch
