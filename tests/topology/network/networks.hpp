// Networks for tests.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "topology/network/assemble_network.hpp"

namespace dllaunch {

/// Leaves of `width` nodes n0, n1, ...; `fan` leaves a switch, `fan` switches a core, and so on
/// until there is one root.
Network regular_tree(int leaves, int width, int fan);

/// A tree of any shape: depths differ, and some switches have both nodes and switches.
Network random_tree(std::mt19937& random);

/// The names of all nodes, in the order of std::map.
std::vector<std::string> nodes_of(const Network& network);

/// `count` of them, in random order.
std::vector<std::string> drawn(const Network& network, std::size_t count, std::mt19937& random);

/// What no order can undercut: the used units of each level, 0 if only one is used.
std::vector<int> fewest_crossings(const Network& network, const std::vector<std::string>& nodes);

}  // namespace dllaunch
