// A node as a cluster profile describes it. Pure.
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

/// `shape` has passed the schema (node_types.NAME). What the node keeps in reserve is not in the
/// topology's allowed CPUs. A device's `near` is widened to whole cores.
ShapedNode shape_node(const Json& shape, const std::string& source);

}  // namespace dllaunch
