// A network as text for comparison in tests.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "launcher/slurm/host_list.hpp"
#include "topology/network/network.hpp"
#include "topology/network/network_order.hpp"

namespace dllaunch {

/// "tree: core(pod(s1=a,b s2=c) s3=d)": roots, units and nodes in the order of the description.
inline std::string drawn(const Network& network, int unit = -1) {
  std::string text = unit < 0 ? network.kind + ":" : "";
  std::string inside;
  for (std::size_t i = 0; i < network.units.size(); ++i) {
    if (network.units[i].parent != unit) continue;
    inside += (inside.empty() ? "" : " ") + drawn(network, static_cast<int>(i));
  }
  if (unit < 0) return text + (inside.empty() ? "" : " ") + inside;
  std::vector<std::string> nodes;
  for (const auto& [node, leaf] : network.leaf_of) {
    if (leaf == unit) nodes.push_back(node);
  }
  text += network.units[static_cast<std::size_t>(unit)].name;
  if (!nodes.empty()) text += "=" + compress_host_set(nodes);
  return inside.empty() ? text : text + "(" + inside + ")";
}

/// All nodes in network order, as a host list.
inline std::string ordered(const Network& network) {
  std::vector<std::string> nodes;
  for (const auto& [node, leaf] : network.leaf_of) nodes.push_back(node);
  return compress_hosts(network_order(network, nodes));
}

}  // namespace dllaunch
