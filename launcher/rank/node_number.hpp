// The number of a rank's node where the supervisor has ordered the nodes (DLLAUNCH_NODE_ORDER).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

struct NumberedNode {
  int node_rank = 0;
  int nodes = 1;
  /// Slurm's variables as they would be if it had numbered the nodes so: programs compute ranks
  /// from SLURM_NODEID, or take the first of SLURM_STEP_NODELIST for rank 0's host. Empty: not a
  /// Slurm step.
  std::vector<std::pair<std::string, std::string>> variables = {};
};

/// `names`: this node's. nullopt: there is no order, or the starter has not followed it.
std::optional<NumberedNode> number_node(const RankEnv& rank, const EnvLookup& lookup,
                                        const std::vector<std::string>& names);

}  // namespace dllaunch
