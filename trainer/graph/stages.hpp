// Cuts a network into stages: graphs that together compute what it does. For pipelines. Pure.
#pragma once

#include <span>
#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Returns the nodes, ascending, after which the network can be cut: only that node's output
/// crosses the cut, and the next node multiplies by weights, or a shortcut begins or ends.
/// Elsewhere a cut would separate what backends fuse.
std::vector<int> cut_points(const Graph& graph);

/// Cuts after these nodes, ascending and of cut_points(). Returns after.size() + 1 stages, whose
/// joints are set. Nodes, parameters and buffers keep their names; a parameter that nodes of
/// several stages read is in each of them, with the same initial weights.
std::vector<Graph> cut_graph(const Graph& graph, std::span<const int> after);

}  // namespace dllaunch
