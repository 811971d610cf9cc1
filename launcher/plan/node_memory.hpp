// resources.memory as Slurm has it, and whether nodes have that much. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// What a node has of what memory counts for.
struct NodeCounts {
  int ranks = 1;
  int gpus = 0;
};

/// The sbatch option. Ranks have no option of their own: --mem-per-cpu would multiply by CPUs, and
/// Slurm gives whole cores, of an exclusive node all of them. Every node has as many ranks, so
/// --mem is what they need together.
std::pair<std::string, std::string> memory_option(const JobMemory& memory, int ranks_per_node);

/// MiB that a node must have.
double memory_of_node_mib(const JobMemory& memory, const NodeCounts& counts);

/// Whether such a node has it; true where it is not known. Slurm takes a node whose memory is not
/// configured for one with 1 MiB.
bool has_memory(const NodeType& type, double mib);

/// Nodes that a job may get.
struct NodeChoice {
  std::string where = {};  // "nodes of partition gpu"
  int wanted = 1;
  std::vector<std::pair<const NodeType*, int>> kinds = {};  // with the number of hosts of each
};

/// unsatisfiable: fewer nodes than wanted have that much memory, though there are enough. "asked
/// for 64G of memory for each of 8 ranks on a node, 512 GiB together, nodes of partition gpu have
/// 480 GiB".
Result<Ok> check_memory(const JobMemory& memory, const NodeCounts& counts, const NodeChoice& nodes);

}  // namespace dllaunch
