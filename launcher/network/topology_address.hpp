// Reads what Slurm tells each node of a job about its place: SLURM_TOPOLOGY_ADDR, such as
// "s0.s4.n1", and SLURM_TOPOLOGY_ADDR_PATTERN, "switch.switch.node".
//
// Follows srun(1), "SLURM_TOPOLOGY_ADDR": switches from the top down to the node, separated by
// periods; a host list in brackets where several switches of a level reach the node; an empty part
// where none does. "block.node" from Slurm 23.11, "torus:x:y:z.node" from 26.05, "node" without a
// topology.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/network/network.hpp"

namespace dllaunch {

struct TopologyAddress {
  std::string address = {};
  std::string pattern = {};
};

/// The network of the nodes that have these addresses. What does not fit its pattern is left out,
/// with a warning.
Network network_of_addresses(const std::vector<TopologyAddress>& addresses, std::string source);

/// Lines SLURM_TOPOLOGY_ADDR=... and SLURM_TOPOLOGY_ADDR_PATTERN=..., as `srun env` prints them for
/// all nodes, in any order. Other lines do not matter.
bool is_topology_addresses(std::string_view text);
std::vector<TopologyAddress> parse_topology_addresses(std::string_view text);

}  // namespace dllaunch
