// Queries about the edges of a graph.
#pragma once

#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Returns, for each node, the nodes that read its output, once per input that it is.
std::vector<std::vector<int>> readers_of(const Graph& graph);

/// Returns, for each node, whether its gradient is needed: it or a node it depends on has a
/// parameter that is not frozen, or the graph's input is joined to another stage.
std::vector<bool> trained_nodes(const Graph& graph);

}  // namespace dllaunch
