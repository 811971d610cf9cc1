// Ranks as doctor would observe them, made up for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "topology/diagnosis/diagnosis.hpp"

namespace dllaunch {

/// One node with a Slurm rank on each of `cpus` that has loaded the runtime of the node's GPUs.
inline NodeObservation ranks_on(const Topology& topology, const std::vector<IdSet>& cpus) {
  NodeObservation node{.host = "n1"};
  node.shared_memory = SharedMemory{std::uint64_t{1} << 36, std::uint64_t{1} << 36};
  const auto count = static_cast<int>(cpus.size());
  for (int i = 0; i < count; ++i) {
    RankObservation rank;
    rank.pid = 100 + i;
    rank.rank = i;
    rank.world_size = count;
    rank.local_rank = i;
    rank.local_world_size = count;
    rank.launcher = "slurm";
    rank.command = "app";
    rank.cpus = cpus[static_cast<std::size_t>(i)];
    rank.main_cpus = rank.cpus;
    rank.memory.mode = "default";
    rank.libraries_read = true;
    if (!topology.gpus.empty())
      rank.gpu_libraries = {topology.gpus[0].vendor == "amd"     ? "libamdhip64.so.6"
                            : topology.gpus[0].vendor == "intel" ? "libze_loader.so.1"
                                                                 : "libcuda.so.1"};
    node.ranks.push_back(std::move(rank));
  }
  return node;
}

inline NodeObservation ranks_as_placed(const Topology& topology, const Placement& placement) {
  std::vector<IdSet> cpus;
  for (const auto& rank : placement.ranks) cpus.push_back(rank.cpus);
  return ranks_on(topology, cpus);
}

/// The finding of one rule; its id is "" if there is none.
inline Finding finding_of(const Topology& topology, const NodeObservation& node,
                          const std::string& id) {
  for (auto& finding : diagnose(topology, node))
    if (finding.id == id) return std::move(finding);
  return {};
}

/// "FAIL 0-1", the level and ranks of one rule's worst finding; "" if there is none.
inline std::string verdict_of(const Topology& topology, const NodeObservation& node,
                              const std::string& id) {
  const auto finding = finding_of(topology, node, id);
  if (finding.id.empty()) return "";
  const auto ranks = to_list(finding.ranks);
  return std::string(to_string(finding.level)) + (ranks.empty() ? "" : " " + ranks);
}

}  // namespace dllaunch
