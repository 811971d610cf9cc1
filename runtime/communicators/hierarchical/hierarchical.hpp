// Hierarchical communicator: shared memory within a node, messages between nodes.
// Includes no mpi.h (it uses mpi/peers.hpp) and knows no GPU.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// unavailable, on all ranks alike, also if the ranks of a node cannot share memory.
Result<std::unique_ptr<Communicator>> open_hierarchical(const RankEnv& env);

/// Connects the ranks of this node only: rank() and size() are within the node.
Result<std::unique_ptr<Communicator>> open_hierarchical_within_node(const RankEnv& env);

/// As open_hierarchical, but treats each `ranks_per_node` consecutive ranks as a node: several
/// nodes on one machine.
Result<std::unique_ptr<Communicator>> open_hierarchical_in_nodes_of(const RankEnv& env,
                                                                    int ranks_per_node);

}  // namespace dllaunch
