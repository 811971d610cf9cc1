// Reads a description of the network between nodes in any format that dllaunch knows.
#pragma once

#include <string>
#include <string_view>

#include "support/result.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

/// Recognises by content: Slurm's topology.conf and `scontrol show topology`; topology.yaml;
/// SLURM_TOPOLOGY_ADDR lines; `ibnetdiscover`; a cluster profile with `network:`. `source` names it
/// for people. What contradicts itself is left out, with a warning in the network. bad_request: the
/// text is in none of these formats.
Result<Network> read_network(std::string_view text, const std::string& source);

}  // namespace dllaunch
