#include "topology/node/topology.hpp"

namespace dllaunch {

IdSet Topology::cpus() const {
  IdSet all;
  for (const auto& core : cores) all |= core.cpus;
  return all;
}

IdSet Topology::numa_of(const IdSet& cpu_set) const {
  IdSet nodes;
  for (const auto& node : numa)
    if (node.cpus.intersects(cpu_set)) nodes.insert(node.index);
  return nodes;
}

}  // namespace dllaunch
