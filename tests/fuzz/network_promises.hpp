// What holds for any network that a reader made of any text.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/must_hold.hpp"
#include "topology/network/network_order.hpp"

namespace dllaunch {

/// The order of its nodes is its nodes, and crosses no level more often than any other.
inline void must_be_a_network(const Network& network) {
  must_hold(is_sound(network), "nothing loops");
  must_hold(network.leaf_of.empty() || !network.units.empty(), "a node hangs on something");
  std::vector<std::string> nodes;
  for (const auto& [node, leaf] : network.leaf_of) {
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2), node);
    if (nodes.size() == 200) break;
  }
  if (nodes.empty()) return;
  const auto order = network_order(network, nodes);
  must_hold(std::ranges::is_permutation(order, nodes), "no node is lost or new");
  const auto before = ring_crossings(network, nodes);
  const auto after = ring_crossings(network, order);
  for (std::size_t level = 0; level < after.size(); ++level)
    must_hold(after[level] <= before[level], "it makes nothing worse");
  auto spare = nodes;
  spare.pop_back();
  must_hold(std::ranges::is_permutation(network_order(network, spare, order), spare),
            "nor after a node was lost");
  nodes.push_back("a node that no file has");
  must_hold(network_order(network, nodes) == nodes, "an unknown node: the order given");
}

}  // namespace dllaunch
