// Topologies from a short string, for tests, documentation and Slurm's own counts.
#pragma once

#include <string_view>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Parses "packages:2 numa:4 l3:2 cores:8 threads:2 gpus:4 nics:2 memory:64". Counts are NUMA nodes
/// per package, L3s per NUMA node, cores per L3, threads per core, GPUs and NICs per machine, GiB
/// of memory per NUMA node. Every word may be omitted: packages, numa, l3, cores and threads
/// default to 1, gpus and nics to 0, memory to 16.
///
/// Devices are spread over the NUMA nodes in order, in blocks: of 4 GPUs on 2 nodes, 0 and 1 are on
/// node 0; 2 GPUs on 4 nodes are on nodes 0 and 2. CPUs are numbered as by Linux on x86: all first
/// threads, then all second. GPUs are "nvidia", NICs fabric.
///
/// bad_request: an unknown or repeated word, a count outside 1 .. 4096 (0 is allowed for gpus and
/// nics), more than 65536 CPUs.
Result<Topology> synthetic_topology(std::string_view text);

/// Returns a node known only by Slurm's counts (scontrol show node): one NUMA node per socket, and
/// GPUs of unknown vendor and locality (their cpus are all of the machine). Counts below 1 count as
/// 1.
Topology topology_from_counts(int sockets, int cores_per_socket, int threads_per_core, int gpus);

}  // namespace dllaunch
