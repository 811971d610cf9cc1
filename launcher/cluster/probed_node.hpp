// A node that was looked at from inside: as it is kept, and as people read of it. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/cluster/facts.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Written into every record; a reader refuses what is newer than itself.
constexpr int probe_format = 1;

Json to_json(const NodeType& type);
/// bad_request: says which field cannot be.
Result<NodeType> node_type_from_json(const Json& document);

Json to_json(const ProbedNode& node);
/// bad_request: not a record, of a newer format, or damaged; says what.
Result<ProbedNode> probed_node_from_json(const Json& document);

/// The same for nodes that Slurm describes alike, whatever their names and partitions:
/// "4xa100-64cpus-1f3a9c2e". Letters, digits and dashes.
std::string node_type_id(const NodeType& type);

/// Slurm's description is the same, node names left out.
bool same_description(const NodeType& a, const NodeType& b);

/// A topology may be of another kind of node. CPUs that Slurm keeps to itself may be missing in it,
/// so it need not have them all.
bool describes(const Topology& topology, const NodeType& type);

/// "64 CPUs (2 x 16 x 2), 4 GPUs (a100)": sockets x cores x threads.
std::string shape_words(const NodeType& type);
std::string shape_words(const Topology& topology);

/// "just now", "5 minutes ago", "3 days ago"
std::string age_words(std::int64_t seconds);

}  // namespace dllaunch
