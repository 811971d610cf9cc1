// Slurm options set through sbatch_extra or SBATCH_* variables.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/slurm/input_variables.hpp"

namespace dllaunch {

/// The job with overrides copied into its empty keys (partition, account, qos, time, reservation,
/// constraint, exclude, gpus_per_node), where plan and checks see them. Precedence: key, extra,
/// variable. Pure.
Job apply_overrides(Job job, const SbatchVariables& variables);

/// The GPU type that an extra requests: "v100" in "--gres=gpu:v100:2", "--gpus-per-node=v100:2".
/// Empty: none, or several, which Slurm checks.
std::string gpu_type_in(const std::string& extra);
/// The first of all.
std::string wanted_gpu_type(const std::vector<std::string>& extras);

}  // namespace dllaunch
