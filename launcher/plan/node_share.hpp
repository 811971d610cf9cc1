// What a planned job occupies of each node, for its books. Pure.
#pragma once

#include "launcher/plan/run_outline.hpp"
#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// Devices that the ranks of a node drive: one that they share, or drive parts of, counts once.
int devices_of(const Topology& topology, const Placement& placement);

/// On a machine that nothing divides: the cores that ranks are bound to, all of them unbound.
NodeShare share_of_ranks(const Topology& topology, const Placement& placement);

}  // namespace dllaunch
