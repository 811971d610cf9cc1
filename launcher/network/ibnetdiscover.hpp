// Reads what `ibnetdiscover` prints: each switch and adapter of an InfiniBand fabric with its
// links.
//
// Follows the topology file format of ibnetdiscover(8), infiniband-diags 2.x: blocks that begin
// with `Switch PORTS "S-GUID" # "NAME" ...` or `Ca PORTS "H-GUID" # "HOST ADAPTER"`, with a line
// `[PORT] "PEER"[PORT] # "NAME" ...` for each link (an adapter's has its GUID after the port).
#pragma once

#include <string>
#include <string_view>

#include "topology/network/network.hpp"

namespace dllaunch {

bool is_ibnetdiscover(std::string_view text);

/// A leaf is a set of leaf switches, and the hosts whose adapters hang on exactly these (the rails
/// of a node go to different switches). A host that hangs on some of the switches of a set with at
/// least as many hosts belongs to that one: a cable of it is missing. Units above join the leaves
/// that reach the same switches one hop further from the hosts. Hosts are named as in the
/// description of their adapters, "n1 mlx5_0", without a domain; adapters that name no host are
/// left out.
Network read_ibnetdiscover(std::string_view text, std::string source);

}  // namespace dllaunch
