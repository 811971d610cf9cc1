// Draws a node: NUMA nodes with their CPUs, GPUs and NICs, and which local rank has which. As SVG.
#pragma once

#include <string>

#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// An <svg> of class "node": a box per NUMA node that has CPUs, with a square per CPU in the colour
/// of its rank, the ranks, and its GPUs and NICs. A device next to several NUMA nodes, or to an
/// unknown one, stands below the boxes. Empty without NUMA nodes.
std::string draw(const Topology& topology, const Placement& placement);

}  // namespace dllaunch
