// The network between nodes, for `dllaunch topo --network`.
#pragma once

#include <string>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// `file` without a name: Slurm's network, else that of the cluster's profile.
constexpr std::string_view own_network = "auto";

struct NetworkOptions {
  std::string file = {};   // "auto": of this cluster
  std::string nodes = {};  // a host list; empty: all
  bool json = false;
};

/// bad_request: the file or the list is wrong. unsatisfiable: no network is known here.
Result<int> show_network(System& system, const NetworkOptions& options);

}  // namespace dllaunch
