// A node as a tree for people: packages, NUMA nodes, caches, and devices where they hang.
#pragma once

#include <string>

#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// One character a core, a blank between L3s: the rank that `placement` gives it (0-9, a-z, A-Z and
/// again), "." for no rank's, "*" for several ranks', "x" for a core that is not allowed. GPUs and
/// NICs stand below the smallest part of the node that holds their CPUs, those of one host bridge
/// on one line, with their ranks in brackets. Lines stay within `columns`, which is at least 40:
/// what does not fit goes on below. ASCII only; with `color` a rank has the same colour everywhere.
std::string draw_node(const Topology& topology, const Placement& placement, int columns,
                      bool color);

}  // namespace dllaunch
