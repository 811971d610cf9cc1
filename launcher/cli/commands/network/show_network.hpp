// The network between nodes, for `dllaunch topo --network`.
#pragma once

#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

/// `file` without a name: Slurm's network, else that of the cluster's profile.
constexpr std::string_view own_network = "auto";

/// That of a file, or of this cluster. bad_request: the file is wrong. unsatisfiable: no network is
/// known here.
Result<Network> network_of(System& system, const std::string& file);

struct NetworkOptions {
  std::string file = {};   // "auto": of this cluster
  std::string nodes = {};  // a host list; empty: all
  bool json = false;
};

/// Prints it. Errors as network_of(); bad_request: the list is wrong.
Result<int> show_network(System& system, const NetworkOptions& options);

}  // namespace dllaunch
