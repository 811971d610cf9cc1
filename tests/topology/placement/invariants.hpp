// contract.md "Placement", as a check of any answer.
#pragma once

#include "topology/placement/placement.hpp"

namespace dllaunch {

/// Fails the current test where `placement` breaks a promise. Written from the contract alone: it
/// shares no code with the placement.
void expect_promises_kept(const Topology& topology, const PlacementRequest& request,
                          const Placement& placement);

/// place_ranks(), which must succeed, checked.
Placement placed(const Topology& topology, const PlacementRequest& request);

}  // namespace dllaunch
