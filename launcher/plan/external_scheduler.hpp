// A job on a cluster that PBS, LSF or Cobalt runs: dllaunch plans it and says what to type. Pure.
#pragma once

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/job/job.hpp"
#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// The job with what only a script of ours can do taken out: data is read where it lies ({stage}/x
/// is the source of that name), and there is no array.
Job for_external_scheduler(Job job);

/// The plan with the line that starts the ranks there and the lines that come before it in the
/// job's own script; no sbatch options; a warning for everything of `job`, as its user wrote it,
/// that nobody does there.
void start_elsewhere(const Job& job, const ClusterProfile& profile, LaunchPlan& plan);

}  // namespace dllaunch
