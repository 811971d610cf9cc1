// The best that is known of the nodes a job gets: the shape its ranks are placed on. Pure.
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
  std::string source = "machine";  // probe | profile | facts | slurm | machine
  std::string host = {};           // probe: where it was seen; profile: its name
  std::optional<std::int64_t> age_seconds = {};
  std::string partition = {};    // where to look for a better one
  std::string reserve = "auto";  // what binding.reserve: auto means on these nodes
};

struct KnownTopology {
  Topology topology = {};
  bool exact = false;  // a reading of such a node, not Slurm's counts
  TopologyOrigin origin = {};
  std::vector<std::string> warnings = {};  // what was known and is not used, and why
};

/// In this order: what `dllaunch probe` saw on such a node, the cluster profile's node, a recorded
/// topology in the facts, Slurm's own counts. A probe belongs to a node type by Slurm's
/// description of it, else by a node that both name where only memory or features have changed.
KnownTopology known_topology(const Facts& facts, const NodeSelection& nodes);

/// Whether `placement`, the answer to `request` on nodes.shape, is the answer on every other kind
/// of node that the job may get, as far as anybody has looked: a kind of which only Slurm's counts
/// are known may be wired otherwise.
bool same_on_every_kind(const Facts& facts, const NodeSelection& nodes,
                        const PlacementRequest& request, const Placement& placement);

/// "probed on n1, 3 days ago; `dllaunch probe gpu` refreshes it", "Slurm's counts alone; ...".
std::string origin_words(const TopologyOrigin& origin);

}  // namespace dllaunch
