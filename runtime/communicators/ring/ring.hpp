// Ring: the textbook's ring all-reduce, for comparison: each rank exchanges with two neighbors.
// Knows nothing of nodes or shared memory, and is not chosen by "auto".
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/peers/peers.hpp"

namespace dllaunch {

/// With p ranks and n bytes: 2 (p - 1) steps of n/p bytes each, the minimum traffic, with a latency
/// that grows with p (Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002).
std::unique_ptr<Communicator> open_ring(std::unique_ptr<Peers> world);

}  // namespace dllaunch
