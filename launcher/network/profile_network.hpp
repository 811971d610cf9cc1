// The `network:` block of a cluster profile, for networks that Slurm is not told of: the groups of
// a dragonfly (Slingshot), the switches of a tree, NVLink domains.
//
//   network:
//     kind: dragonfly
//     levels: [switches, groups]     # plural names, smallest first
//     units:
//       - {name: x1000c0, nodes: "nid[001000-001015]"}
//       - {name: g0, units: "x1000c[0-7]"}
#pragma once

#include <string>

#include "support/json.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

/// The JSON Schema of the block.
Json profile_network_schema();

/// Of a block that fits the schema; null: no network.
Network network_of_profile(const Json& block, std::string source);

}  // namespace dllaunch
