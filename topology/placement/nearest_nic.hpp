// Chooses the network interface for a rank.
#pragma once

#include <string>
#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// Returns the position in topology.nics of the nearest one, -1 if there is none. Considers only
/// fabric NICs if the node has any. Order: a common PCI bridge, inside the local CPUs, the same
/// NUMA node, the same package; then the least used, then the first by name. `gpu` is null for a
/// rank without a GPU, which is located by its `cpus`. `used[i]` is the number of ranks that
/// already use NIC i.
int nearest_nic(const Topology& topology, const Gpu* gpu, const IdSet& cpus,
                const std::vector<int>& used);

}  // namespace dllaunch
