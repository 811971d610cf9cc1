// Which nodes of a cluster a job can get, and the shape its ranks are planned on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"

namespace dllaunch {

struct NodeSelection {
  std::string where;               // "nodes of partition gpu", for messages
  NodeType shape;                  // its hosts are left out
  std::string partition;           // the first asked for
  std::vector<std::string> hosts;  // of that shape
  std::vector<NodeType> others;    // that Slurm describes otherwise and can hand out too
  bool uniform = true;             // Slurm can hand out no node of another shape
  std::vector<std::string> warnings;
};

constexpr std::string_view no_default_message = "this cluster has no default partition";

/// Without a partition and a default one, over all that fit, with a warning.
/// unsatisfiable: no such partition, fewer nodes than asked for, a time above the limit, unless the
/// job has a QOS, which may lift it. `wants_gpus`: auto means all GPUs of a node, not none.
Result<NodeSelection> select_nodes(const Resources& resources, const SlurmFacts& slurm,
                                   bool wants_gpus);

/// The same for all that the job asks Slurm for, its spare nodes too.
Result<NodeSelection> select_nodes(const Job& job, const SlurmFacts& slurm, bool wants_gpus);

}  // namespace dllaunch
