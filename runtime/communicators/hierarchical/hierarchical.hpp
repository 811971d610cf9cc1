// Hierarchical communicator: shared memory within a node, messages between nodes.
// Knows no transport (it uses peers/peers.hpp) and no GPU.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/peers/peers.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Collective: opens it among the ranks of `world`, a whole job or one node. unavailable, on all
/// ranks alike, if the ranks of a node cannot share memory.
Result<std::unique_ptr<Communicator>> open_hierarchical(std::unique_ptr<Peers> world);

/// As open_hierarchical, but treats each `ranks_per_node` consecutive ranks as a node: several
/// nodes on one machine. 0: the real nodes.
Result<std::unique_ptr<Communicator>> open_hierarchical_in_nodes_of(std::unique_ptr<Peers> world,
                                                                    int ranks_per_node);

}  // namespace dllaunch
