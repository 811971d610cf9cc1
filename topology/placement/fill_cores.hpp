// The cores that nobody has after the near ones are dealt, for ranks that may reach farther.
#pragma once

#include <vector>

#include "topology/placement/seats.hpp"

namespace dllaunch {

/// Whether ranks get cores that are not near them, once these are dealt.
bool reaches_far(const PlacementRequest& request);

/// Takes single cores from the seats that have most, until there is one left over for each that has
/// none; for as many seats as the node has cores.
void leave_one_for_each(const UsableNode& node, std::vector<IdSet>& near);

/// What each seat gets besides `near`, of the cores in which nobody has a CPU: the seats with the
/// fewest cores first, up to the request's cores_per_rank (mode core: one), and each from the
/// smallest of its domain, NUMA nodes, packages, node that has some left.
std::vector<IdSet> fill_cores(const UsableNode& node, const std::vector<Seat>& seats,
                              const std::vector<IdSet>& near, const PlacementRequest& request);

}  // namespace dllaunch
