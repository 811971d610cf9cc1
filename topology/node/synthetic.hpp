// Topologies from a short string, for tests, documentation and Slurm's own counts.
#pragma once

#include <string_view>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// "packages:2 numa:4 l3:2 cores:8 threads:2 gpus:4 nics:2 memory:64": per package NUMA nodes, per
/// NUMA node L3s, per L3 cores, per core threads; gpus and nics are per machine and dealt over the
/// NUMA nodes in order, in blocks: of 4 GPUs on 2 nodes, 0 and 1 are on node 0; of 2 on 4 nodes,
/// they are on nodes 0 and 2; memory in GiB per NUMA node. Every word may be left out (packages,
/// numa, l3, cores, threads default to 1, gpus and nics to 0, memory to 16). CPU numbering as Linux
/// on x86: all first threads, then all second. GPUs are "nvidia", NICs fabric.
/// bad_request: an unknown or repeated word, a count that is not 1 .. 4096 (0 allowed for gpus,
/// nics), more than 65536 CPUs.
Result<Topology> synthetic_topology(std::string_view text);

/// A node from Slurm's counts alone (scontrol show node): one NUMA node a socket, GPUs of unknown
/// locality and vendor (their cpus are the whole machine's). Counts below 1 are taken as 1.
Topology topology_from_counts(int sockets, int cores_per_socket, int threads_per_core, int gpus);

}  // namespace dllaunch
