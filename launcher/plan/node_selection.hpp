// Selects the nodes a job can get, and the node shape its ranks are planned on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"

namespace dllaunch {

struct NodeSelection {
  std::string where;               // "nodes of partition gpu", for messages
  NodeType shape;                  // without its hosts
  std::string partition;           // the first one requested
  std::vector<std::string> hosts;  // of that shape
  std::vector<NodeType> others;    // node types that Slurm might also allocate
  bool uniform = true;             // Slurm cannot allocate another shape
  std::vector<std::string> warnings;
};

constexpr std::string_view no_default_message = "this cluster has no default partition";

/// On any cluster (SlurmFacts::any_cluster) what the job names exists, with an example's nodes; a
/// warning says what was not checked. Without a requested or default partition, selects from all
/// that fit, with a warning. unsatisfiable: no such partition, too few nodes, or a time above the
/// limit (unless the job has a QOS, which may lift it). `wants_gpus`: auto means all GPUs of a
/// node, not none.
Result<NodeSelection> select_nodes(const Resources& resources, const SlurmFacts& slurm,
                                   bool wants_gpus);

/// The same for everything that the job requests from Slurm, including spare nodes.
Result<NodeSelection> select_nodes(const Job& job, const SlurmFacts& slurm, bool wants_gpus);

}  // namespace dllaunch
