// Makes a network of what a description says, which may be wrong in every way.
#pragma once

#include <string>
#include <vector>

#include "topology/network/network.hpp"

namespace dllaunch {

/// A line of a description: a unit with the units and the nodes on it.
struct DescribedUnit {
  std::string name = {};
  std::vector<std::string> children = {};
  std::vector<std::string> nodes = {};
};

/// Sets units, levels of units, leaf_of and warnings of `network`; the names of levels stay, and
/// missing ones are made up. What contradicts the rest is left out, with a warning each: a unit
/// that is described twice (its lines are joined), children without a description, a second parent,
/// a loop, a node on a second leaf, units without nodes. No network at all (a warning, no units) if
/// it is deeper than max_network_levels or nothing is left.
Network assemble_network(Network network, const std::vector<DescribedUnit>& described);

/// "n1, n2, n3 and 4 others"; at most three names.
std::string some_of(const std::vector<std::string>& names);

}  // namespace dllaunch
