// A node as a page of text, for people.
#pragma once

#include <string>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// Returns the node as a tree with a table of GPUs, NICs and NUMA nodes; lines fit into `columns`.
std::string render_topology(const Topology& topology, int columns, bool color);

}  // namespace dllaunch
