// A network, an order of its nodes and what that order saves, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

/// Nodes of a job in three orders, and how many edges of a ring leave each level's units.
struct OrderedNodes {
  std::vector<std::string> given = {};
  std::vector<std::string> ordered = {};
  std::string why_not = {};  // why `ordered` is `given`; empty: it is the network's
  struct Crossings {
    int given = 0;
    int alphabetical = 0;
    int ordered = 0;
  };
  std::vector<Crossings> by_level = {};  // leaves first; empty without a network
};

OrderedNodes order_nodes(const Network& network, std::vector<std::string> nodes);

/// The units that hold nodes of the job, as a tree with their nodes, the order, and its crossings.
std::string draw_network(const Network& network, const OrderedNodes& nodes);

/// {source, kind, levels: [{name, units}], order, crossings: {given, alphabetical, ordered},
/// warnings}; crossings are edges that leave a leaf.
Json to_json(const Network& network, const OrderedNodes& nodes);

}  // namespace dllaunch
