// Shared memory within a node, MPI between nodes.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// unavailable also where ranks of a node cannot share memory; on all ranks alike.
Result<std::unique_ptr<Communicator>> open_hierarchical(const RankEnv& env);

/// The ranks of this node among themselves: rank() and size() are of the node.
Result<std::unique_ptr<Communicator>> open_hierarchical_within_node(const RankEnv& env);

/// As open_hierarchical, but pretends that each `ranks_per_node` consecutive ranks are a node:
/// several nodes without several machines.
Result<std::unique_ptr<Communicator>> open_hierarchical_in_nodes_of(const RankEnv& env,
                                                                    int ranks_per_node);

}  // namespace dllaunch
