// Divides the GPUs of a whole job over nodes of the cluster.
#pragma once

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The job with `resources.gpus` as nodes and gpus_per_node: full nodes, or a part of one. Other
/// jobs are returned as they are. Pure. unsatisfiable: nodes there have no GPU, or the number
/// does not divide, with the numbers that do.
Result<Job> divide_gpus(Job job, const Facts& facts, const SbatchVariables& variables, bool local);

}  // namespace dllaunch
