// Measures the cost of a wrong binding on this node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Measures from each of `ranks`' CPU sets (none: from the CPUs of each NUMA node) to each NUMA
/// node with memory, and from each node to each GPU where there is a driver. A few seconds at most;
/// what is left out then is said. {"host", "threads", "memory": [{"cpus", "numa", "local",
/// "gb_per_s"}], "copies": [{"gpu", "pci", "numa", "local", "gb_per_s"}], "notes": []}
Json bench_node(const Topology& topology, const std::vector<IdSet>& ranks, const std::string& host);

/// bench_node()'s answers of all hosts as tables, with what the wrong node costs. Of more than
/// three hosts the first three, and how many more there are.
std::string render_bench(const Json& hosts);

}  // namespace dllaunch
