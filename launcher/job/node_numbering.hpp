// How the ranks of a job number its nodes: binding.network_order.
#pragma once

#include <string_view>

namespace dllaunch {

enum class NodeNumbering {
  automatic,  // along the network if one is known, else as the starter does
  slurm,      // as the starter does
  arrival     // as the job's nodes are given
};
inline constexpr std::string_view node_numbering_names[] = {"auto", "slurm", "arrival"};

}  // namespace dllaunch
