// The node and the placement that a plan.json holds.
#pragma once

#include "support/json.hpp"
#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

struct StoredPlacement {
  Topology topology = {};    // of an older plan only the GPUs of ranks
  Placement placement = {};  // of the node's local ranks
};

/// Empty if the document is no plan.
StoredPlacement stored_placement(const Json& plan);

}  // namespace dllaunch
