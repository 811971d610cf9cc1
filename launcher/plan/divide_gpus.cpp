#include "launcher/plan/divide_gpus.hpp"

#include <fmt/core.h>

#include <utility>

#include "launcher/plan/node_selection.hpp"
#include "launcher/plan/profile_job.hpp"
#include "launcher/plan/sbatch_overrides.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

Error does_not_divide(int gpus, const NodeSelection& nodes) {
  const int have = nodes.shape.gpus;
  int even = gpus / have + 1;  // the fewest nodes with the same number on each
  while (gpus % even != 0) ++even;
  return {ErrorKind::unsatisfiable,
          fmt::format("asked for {} GPUs, which do not fill whole {}: they have {} each", gpus,
                      nodes.where, have),
          fmt::format("use resources.gpus: {} or {}, or nodes: {} and gpus_per_node: {}",
                      gpus / have * have, (gpus / have + 1) * have, even, gpus / even)};
}

}  // namespace

Result<Job> divide_gpus(Job job, const Facts& facts, const SbatchVariables& variables, bool local) {
  if (!job.resources.gpus) return job;
  const int gpus = *job.resources.gpus;
  int nodes = 1;
  // This machine is the only node, and plan() says whether it has as many.
  if (facts.slurm && !local) {
    Job one = apply_overrides(job, variables);
    if (facts.profile) one = with_profile(std::move(one), *facts.profile);
    one.resources.gpus_per_node.reset();
    const auto chosen = select_nodes(one.resources, *facts.slurm, true);
    if (!chosen) return chosen.error();
    const int have = chosen->shape.gpus;
    if (have == 0)
      return Error{
          ErrorKind::unsatisfiable,
          fmt::format("asked for {}, but {} have none", counted(gpus, "GPU"), chosen->where),
          "name another resources.partition"};
    if (gpus > have && gpus % have != 0) return does_not_divide(gpus, *chosen);
    nodes = gpus > have ? gpus / have : 1;
  }
  auto& resources = job.resources;
  resources.gpus.reset();
  resources.nodes = nodes;
  resources.gpus_per_node = gpus / nodes;
  Json& stored = job.resolved["resources"];
  stored["gpus"] = nullptr;
  stored["nodes"] = nodes;
  stored["gpus_per_node"] = gpus / nodes;
  return job;
}

}  // namespace dllaunch
