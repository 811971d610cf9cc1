// Reads Slurm's line format of a network: topology.conf, and what `scontrol show topology` prints.
//
// Follows topology.conf(5) of Slurm 22.05 to 26.05 (SwitchName, Switches, Nodes, LinkSpeed;
// BlockName, BlockSizes; RingName), and the output of `scontrol show topology` of these versions:
// topology/tree (Level=, and Nodes= of all nodes below a switch), topology/block from 23.11, with
// AggregatedBlock= and BlockSize= from 24.11, topology/ring and topology/torus3d from 26.05.
#pragma once

#include <string>
#include <string_view>

#include "topology/network/network.hpp"

namespace dllaunch {

/// Whether a line begins with one of its keys, such as SwitchName=.
bool is_slurm_topology(std::string_view text);

/// What is wrong is left out, with a warning. Only blocks count if there are blocks and switches
/// (the file of a cluster that may use either): blocks are the tighter.
Network read_slurm_topology(std::string_view text, std::string source);

}  // namespace dllaunch
