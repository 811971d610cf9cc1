// The network between nodes, as one name.
#pragma once

#include <string>

namespace dllaunch {

/// Returns the node's network as a cache key: "infiniband-4" for four adapters, else the fastest
/// link's Mbit/s, "ethernet-10000".
std::string network_of_node();

}  // namespace dllaunch
