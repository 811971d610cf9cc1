// Reads topology.yaml of Slurm 25.05 to 26.05: several named topologies, each a tree, blocks, flat,
// rings or 3D tori. Follows topology.yaml(5) of 25.05, and for rings and tori (26.05) the keys that
// Slurm's own reader has: ring: {rings: [{ring, nodes}]}, torus3d: {toruses: [{name, dims: {x, y,
// z}, nodes, regions: [{anchor, dims, nodes}]}]}, where x counts fastest through `nodes`.
#pragma once

#include <string>

#include "launcher/config/yaml_tree.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

/// Whether the document is a list whose first item has the key `topology`.
bool is_topology_yaml(const YamlNode& root);

/// The topology `wanted`; if empty, the first with cluster_default: true, else the first. No
/// network if it is flat, or if none is called so (a warning).
Network read_topology_yaml(const YamlNode& root, const std::string& source,
                           const std::string& wanted = "");

}  // namespace dllaunch
