// Assigns each rank of a node its GPUs and the CPUs near them.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/core_shares.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// The part of a node that placement may use.
struct UsableNode {
  const Topology& topology;
  IdSet cpus;                    // allowed and not reserved
  std::vector<ShareUnit> cores;  // their threads core by core, by package, NUMA node, L3

  UsableNode(const Topology& of, IdSet usable_cpus);
};

struct Seat {
  std::vector<int> gpus = {};  // positions in Topology::gpus
  IdSet local = {};            // CPUs local to its GPUs, usable or not
  IdSet domain = {};           // the usable CPUs it may get; empty only if the node has none
  std::string widened = {};    // "NUMA node 3": what `domain` covers if no local CPU is usable
};

/// Returns one seat per rank, with the first `gpus` GPUs distributed over them.
std::vector<Seat> seat_ranks(const UsableNode& node, int ranks, int gpus, RankOrder order,
                             BindMode mode);

}  // namespace dllaunch
