// Draws a node as a tree: packages, NUMA nodes, caches, and devices where they are attached.
#pragma once

#include <string>

#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// Each core is one character, with a blank between L3s: the rank that `placement` assigns it to
/// (0-9, a-z, A-Z and again), "." for none, "*" for several, "x" if the core is not allowed. GPUs
/// and NICs stand below the smallest part of the node that contains their CPUs. Those of one host
/// bridge share a line, with their ranks in brackets. Lines fit into `columns` (at least 40) and
/// are continued below. ASCII only; with `color` a rank has the same color everywhere.
std::string draw_node(const Topology& topology, const Placement& placement, int columns,
                      bool color);

}  // namespace dllaunch
