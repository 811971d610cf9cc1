#include "tests/launcher/sample_probes.hpp"

#include "topology/node/synthetic.hpp"

namespace dllaunch {

ProbedNode probe_of(const Facts& facts, const NodeType& type) {
  return {.type = type,
          .cluster = facts.slurm->cluster,
          .partitions = {facts.slurm->partitions[0].name},
          .host = type.hosts.front(),
          .time = 1'700'000'000,
          .kernel = "6.1.0-18-amd64",
          .drivers = {{"nvidia", "535.104.05"}},
          .dllaunch = "0.1.0",
          .hwloc = "2.9.0",
          .topology = topology_from_counts(type.sockets, type.cores_per_socket,
                                           type.threads_per_core, type.gpus)};
}

}  // namespace dllaunch
