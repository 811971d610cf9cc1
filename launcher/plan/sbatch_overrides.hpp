// What a job asks of Slurm elsewhere than under a key of its own: options in sbatch_extra, and the
// variables that sbatch reads.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/slurm/sbatch_variables.hpp"

namespace dllaunch {

/// The job with these overrides in its keys (partition, account, qos, time, reservation,
/// constraint, exclude, gpus_per_node) where they say nothing, so that plan and checks know of
/// them. A key counts before an extra, an extra before a variable. Pure.
Job apply_overrides(Job job, const SbatchVariables& variables);

/// The type that an extra asks GPUs of: "v100" of "--gres=gpu:v100:2", "--gpus-per-node=v100:2".
/// Empty: none, or several, which Slurm judges.
std::string gpu_type_in(const std::string& extra);
/// Of all of them the first.
std::string wanted_gpu_type(const std::vector<std::string>& extras);

}  // namespace dllaunch
