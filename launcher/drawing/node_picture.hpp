// Draws a node: NUMA nodes with their CPUs, GPUs and NICs, and which local rank has which. As SVG.
#pragma once

#include <string>

#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// An <svg> of class "node": a box per NUMA node that has CPUs, with a square per CPU in the colour
/// of its rank, the ranks, and its GPUs and NICs. Any other device stands below the boxes. Empty
/// without such NUMA nodes.
std::string draw(const Topology& topology, const Placement& placement);

}  // namespace dllaunch
