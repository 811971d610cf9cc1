// The node and the placement that a plan.json holds.
#pragma once

#include "support/json.hpp"
#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

struct StoredPlacement {
  Topology topology = {};    // empty: an older plan, or one without a known node
  Placement placement = {};  // of the node's local ranks
};

/// What cannot be read is left out.
StoredPlacement stored_placement(const Json& plan);

}  // namespace dllaunch
