// Up to which size whole messages between nodes are the faster way, measured on the nodes at hand.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "runtime/communicators/hierarchical/inter_node.hpp"

namespace dllaunch {

/// Microseconds of an all-reduce of `bytes`, each way.
struct WayTimes {
  std::size_t bytes = 0;
  double whole = 0;
  double parts = 0;
};

/// The largest size up to which `whole` is never slower by more than a tenth (less is noise); 0
/// where it is at once. Sizes ascending.
std::size_t choose_whole_bytes(std::span<const WayTimes> times);

/// Collective over `world`; `inter_node` is nullptr on ranks that have none, and has finished what
/// it had. Nothing where half a second did not suffice to find out, as on a network that is busy.
std::optional<InterNodeLimits> measure_limits(const Peers& world, InterNode* inter_node);

/// What the node's network is, as keys name it: "infiniband-4" for as many adapters, else the
/// fastest link's Mbit/s, "ethernet-10000".
std::string network_of_node();

}  // namespace dllaunch
