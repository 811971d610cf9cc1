// The best known topology of the nodes a job gets, on which its ranks are placed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/plan/node_selection.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

struct TopologyOrigin {
  std::string source = "machine";  // probe | profile | facts | job | slurm | machine
  std::string host = {};           // probe: the probed host; profile: its name
  std::optional<std::int64_t> age_seconds = {};
  std::string partition = {};    // where `dllaunch probe` could find a better one
  std::string reserve = "auto";  // what binding.reserve: auto means on these nodes
};

struct KnownTopology {
  Topology topology = {};
  bool exact = false;  // read from such a node, not derived from Slurm's counts
  TopologyOrigin origin = {};
  std::vector<std::string> warnings = {};  // known topologies that are not used, and why
};

/// Sources in order: `dllaunch probe` on such a node, the cluster profile's node, a topology
/// recorded in the facts, Slurm's counts. A probe matches a node type by Slurm's description; or by
/// a common host, if only memory or features have changed.
KnownTopology known_topology(const Facts& facts, const NodeSelection& nodes);

/// Whether `placement`, computed from `request` on nodes.shape, is also right on every other node
/// type the job may get. False if only Slurm's counts are known for one: its topology may differ.
bool same_on_every_kind(const Facts& facts, const NodeSelection& nodes,
                        const PlacementRequest& request, const Placement& placement);

/// "probed on n1, 3 days ago; `dllaunch probe gpu` refreshes it", "Slurm's counts alone; ...".
std::string origin_words(const TopologyOrigin& origin);

}  // namespace dllaunch
