// From which size on a inter_node takes which way.
#pragma once

#include <cstddef>

namespace dllaunch {

/// Messages up to `whole_bytes` go whole to every node, which all reduce the same: one round of
/// M - 1 messages. Larger ones go in parts: each node reduces its part of 1/M and sends it to all:
/// two rounds, 2 (M - 1)/M n bytes in and out, the least there is. Both give the same bits. For
/// more nodes than `most_nodes` so many messages cost more than the steps of MPI's own algorithm.
struct InterNodeLimits {
  static constexpr std::size_t most_whole_bytes = std::size_t{64} << 10;  // whatever was measured

  std::size_t whole_bytes = 8192;  // where nothing was measured
  int most_nodes = 32;
};

}  // namespace dllaunch
