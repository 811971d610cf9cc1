// The record of a probed node, as JSON and as text. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/cluster/facts.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Written into every record; readers refuse newer formats.
constexpr int probe_format = 1;

Json to_json(const NodeType& type);
Json to_json(const ProbedNode& node);
/// bad_request: not a record, a newer format, or damaged; says which.
Result<ProbedNode> probed_node_from_json(const Json& document);

/// An id shared by all nodes that Slurm describes alike, whatever their names and partitions:
/// "4xa100-64cpus-1f3a9c2e". Letters, digits and dashes.
std::string node_type_id(const NodeType& type);

/// Whether Slurm's descriptions are equal, apart from node names.
bool same_description(const NodeType& a, const NodeType& b);

/// In what a topology does not fit a node type, "it has 2 GPUs, Slurm counts 4"; empty: it fits. It
/// may lack CPUs that Slurm reserves.
std::string describe_difference(const Topology& topology, const NodeType& type);
bool describes(const Topology& topology, const NodeType& type);

/// "64 CPUs (2 x 16 x 2), 4 GPUs (a100)": sockets x cores x threads.
std::string shape_words(const NodeType& type);
std::string shape_words(const Topology& topology);

/// "just now", "5 minutes ago", "3 days ago"
std::string age_words(std::int64_t seconds);

}  // namespace dllaunch
