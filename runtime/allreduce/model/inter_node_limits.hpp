// The message sizes at which an inter-node group changes its algorithm.
#pragma once

#include <cstddef>

namespace dllaunch {

/// Messages up to `whole_bytes` go whole to every node, and all nodes reduce alike: one round of
/// M - 1 messages. Larger ones go in parts: each node reduces its 1/M and sends it to all: two
/// rounds, 2 (M - 1)/M n bytes in and out, the minimum. Both give the same bits. Beyond
/// `most_nodes` nodes so many messages cost more than the transport's own algorithm. `by_leaf`:
/// parts go through the leaves of the network, four rounds that cross its uplinks less often
/// (leaf_exchange.hpp).
struct InterNodeLimits {
  static constexpr std::size_t most_whole_bytes = std::size_t{64} << 10;  // whatever was measured

  std::size_t whole_bytes = 8192;  // without a measurement
  int most_nodes = 32;
  bool by_leaf = false;
};

}  // namespace dllaunch
