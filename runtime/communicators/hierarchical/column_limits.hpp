// From which sizes on a column takes which way: measured on two hosts where nothing better is
// known.
#pragma once

#include <cstddef>

namespace dllaunch {

/// Messages up to `whole_bytes` go whole to every node, which all reduce the same: one round of
/// M - 1 messages. From `parts_bytes` on each node reduces its part of 1/M and sends it to all: two
/// rounds, 2 (M - 1)/M n bytes in and out, the least there is. Between them MPI's own algorithm
/// serves, and for more nodes than `most_nodes`, where so many messages cost more than its steps.
struct ColumnLimits {
  std::size_t whole_bytes = 2048;
  std::size_t parts_bytes = 16384;
  int most_nodes = 32;
};

}  // namespace dllaunch
