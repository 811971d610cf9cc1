// The promises of place_ranks() (placement.hpp) as a check of any result.
#pragma once

#include "topology/placement/placement.hpp"

namespace dllaunch {

/// Fails the current test if `placement` breaks a promise. Written from the promises
/// alone; shares no code with the placement.
void expect_promises_kept(const Topology& topology, const PlacementRequest& request,
                          const Placement& placement);

/// place_ranks(), which must succeed, with its result checked.
Placement placed(const Topology& topology, const PlacementRequest& request);

}  // namespace dllaunch
