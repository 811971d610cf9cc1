// Where each rank of a node belongs: its GPUs, and the CPUs it may get beside them.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/core_shares.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// What placement may use of a node.
struct UsableNode {
  const Topology& topology;
  IdSet cpus;                    // allowed and not reserved
  std::vector<ShareUnit> cores;  // their threads core by core, along packages, NUMA nodes, L3s

  UsableNode(const Topology& of, IdSet usable_cpus);
};

struct Seat {
  std::vector<int> gpus = {};  // positions in Topology::gpus
  IdSet local = {};            // CPUs beside its GPUs, usable or not
  IdSet domain = {};           // the usable CPUs it may get; not empty unless the node has none
  std::string widened = {};    // "NUMA node 3": where `domain` is when no local CPU is usable
};

/// One seat a rank, the first `gpus` GPUs dealt over them.
std::vector<Seat> seat_ranks(const UsableNode& node, int ranks, int gpus, RankOrder order,
                             BindMode mode);

}  // namespace dllaunch
