// The order of a job's nodes in which a ring of ranks leaves each switch, block or group once.
// Pure: the same network and nodes give the same order, on every node of a job.
#pragma once

#include <string>
#include <vector>

#include "topology/network/network.hpp"

namespace dllaunch {

/// Why network_order() returns what it was given: no network, or nodes that it does not know. A
/// sentence for people without a full stop; empty: it orders them.
std::string why_not_ordered(const Network& network, const std::vector<std::string>& nodes);

/// `nodes` so that those of each unit, at every level, are neighbours round the ring: no order has
/// fewer crossings at any level. The order of `nodes` does not matter: leaves, and the nodes of
/// one, are in the order in which people count (n2 before n10), on a ring or torus along its walk.
///
/// `before`: the order of the run's previous start. The same nodes in any order give `before`. Else
/// nodes that stay keep their relative order as far as the fewest crossings allow, the first of
/// `before` stays the first if it is still there, and a new node takes the place of a lost one: of
/// its own leaf if possible, else of the nearest.
///
/// `nodes` as they are if why_not_ordered(): a wrong description makes nothing worse.
std::vector<std::string> network_order(const Network& network, std::vector<std::string> nodes,
                                       const std::vector<std::string>& before = {});

/// For each level of the network: how many edges of the ring (each node to the next, the last to
/// the first) leave a unit of that level. A node that the network does not know is a unit by
/// itself. Empty without a (sound) network.
std::vector<int> ring_crossings(const Network& network, const std::vector<std::string>& order);

}  // namespace dllaunch
