// Measures the cost of a wrong binding on this node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Measures from each of `ranks`' CPU sets (none: from the CPUs of each NUMA node) to each NUMA
/// node with memory, and from each node to each GPU that has a driver. Takes a few seconds at most;
/// notes say what was skipped. {"host", "threads", "memory": [{"cpus", "numa", "local",
/// "gb_per_s"}], "copies": [{"gpu", "pci", "numa", "local", "gb_per_s"}], "notes": []}
Json bench_node(const Topology& topology, const std::vector<IdSet>& ranks, const std::string& host);

/// Renders bench_node()'s answers as tables, with the cost of the wrong node: of three hosts at
/// most, then a count.
std::string render_bench(const Json& hosts);

}  // namespace dllaunch
