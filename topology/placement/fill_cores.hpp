// Assigns the cores left over after the near ones, to ranks that may reach farther.
#pragma once

#include <vector>

#include "topology/placement/seats.hpp"

namespace dllaunch {

/// Whether ranks get far cores after the near ones.
bool reaches_far(const PlacementRequest& request);

/// Takes single cores from the seats with the most until one is free for each seat that has none,
/// for at most as many seats as the node has cores.
void leave_one_for_each(const UsableNode& node, std::vector<IdSet>& near);

/// Returns what each seat gets in addition to `near`, from cores on which no seat has a CPU. Seats
/// with the fewest cores come first, up to the request's cores_per_rank (mode core: one). Each
/// takes them from the smallest of its domain, NUMA nodes, packages and node that has some left.
std::vector<IdSet> fill_cores(const UsableNode& node, const std::vector<Seat>& seats,
                              const std::vector<IdSet>& near, const PlacementRequest& request);

}  // namespace dllaunch
