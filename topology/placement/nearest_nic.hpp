// Which network interface a rank should talk over.
#pragma once

#include <string>
#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// Position in topology.nics of the nearest one, -1 when there is none. Fabric NICs only, when the
/// node has any. Nearest: a common PCI bridge, else inside the local CPUs, else on the same NUMA
/// node, else on the same package; of equally near ones the least used, then the first by name.
/// `gpu` is null for a rank without one, which is where its `cpus` are. `used[i]` counts the ranks
/// that NIC i has already.
int nearest_nic(const Topology& topology, const Gpu* gpu, const IdSet& cpus,
                const std::vector<int>& used);

}  // namespace dllaunch
