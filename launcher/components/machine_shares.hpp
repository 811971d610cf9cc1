// Which part of one machine each component gets where they run side by side. Pure.
#pragma once

#include <optional>
#include <vector>

#include "launcher/job/job.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct MachineShare {
  IdSet cpus = {};             // disjoint, unless there are fewer cores than components
  std::vector<int> gpus = {};  // indices in the topology, disjoint
};

struct SharedMachine {
  Topology node = {};
  std::vector<MachineShare> shares = {};  // one for each component; empty: nothing is shared
};

/// One share for each component, in their order. Cores: as many as it asks for (cpus_per_rank and
/// ranks_per_node), the rest of the machine in equal parts, at least one. GPUs: as many as it asks
/// for, none with device cpu, the rest in equal parts.
std::vector<MachineShare> share_machine(const Topology& node,
                                        const std::vector<JobComponent>& components);

/// `node` with only that share's cores and GPUs.
Topology with_share(Topology node, const MachineShare& share);

}  // namespace dllaunch
