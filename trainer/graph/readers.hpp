// What follows from the edges of a graph.
#pragma once

#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// By node: the nodes that read its output, once for each of their inputs that it is.
std::vector<std::vector<int>> readers_of(const Graph& graph);

/// By node: whether it, or a node before it, has a parameter that is not frozen.
std::vector<bool> trained_nodes(const Graph& graph);

}  // namespace dllaunch
