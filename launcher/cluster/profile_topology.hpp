// Builds the topology of a node that a cluster profile describes. Pure.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct ShapedNode {
  Topology topology = {};
  std::string problem = {};             // "this node has no CPU 64; ..."; empty: none
  std::vector<std::string> place = {};  // of the problem, below the node type: gpus, 2, near
};

/// `shape` fits the schema (node_types.NAME). Reserved CPUs are not in the topology's allowed CPUs.
/// A device's `near` is widened to whole cores.
ShapedNode shape_node(const Json& shape, const std::string& source);

}  // namespace dllaunch
