#include "launcher/cluster/profile_facts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace dllaunch {
namespace {

NodeType type_of(const ProfileNode& node, const ProfilePartition& partition) {
  std::uint64_t bytes = 0;
  for (const auto& numa : node.topology.numa) bytes += numa.memory_bytes;
  NodeType type{.hosts = {},
                .cpus = node.topology.allowed_cpus.size(),
                .sockets = node.packages,
                .cores_per_socket = node.cores_per_package,
                .threads_per_core = node.threads_per_core,
                .memory_mib = bytes >> 20,
                .gpus = static_cast<int>(node.topology.gpus.size()),
                .gpu_type = node.gpu_type,
                .features = node.features};
  // Placeholder names, for counting: profiles do not know the real ones.
  type.hosts.reserve(static_cast<std::size_t>(partition.nodes));
  for (int i = 1; i <= partition.nodes; ++i)
    type.hosts.push_back(fmt::format("{}-{}", node.name, i));
  return type;
}

}  // namespace

Result<Facts> facts_from_profile(std::shared_ptr<const ClusterProfile> profile) {
  if (profile->partitions.empty())
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("the cluster profile {} has no partitions or nodes", profile->name),
                 "plan on a host with its Slurm, or with --facts FILE"};
  SlurmFacts slurm{.cluster = profile->name};
  slurm.any_cluster = profile->any_cluster();
  if (!profile->mpi.empty()) slurm.mpi_types = {profile->mpi};
  Partition any{.name = "any", .up = true};
  for (const auto& partition : profile->partitions) {
    const auto node = std::find_if(profile->nodes.begin(), profile->nodes.end(),
                                   [&](const auto& n) { return n.name == partition.node; });
    if (partition.by_constraint) {
      any.is_default = any.is_default || partition.is_default;
      any.max_minutes = partition.max_minutes;
      any.node_types.push_back(type_of(*node, partition));
      continue;
    }
    slurm.partitions.push_back({.name = partition.name,
                                .is_default = partition.is_default,
                                .up = true,
                                .max_minutes = partition.max_minutes,
                                .node_types = {type_of(*node, partition)}});
  }
  if (!any.node_types.empty()) slurm.partitions.push_back(std::move(any));
  Facts facts{.host = {}, .slurm = std::move(slurm)};
  facts.time = std::time(nullptr);
  facts.profile = std::move(profile);
  facts.from_profile = true;
  return facts;
}

}  // namespace dllaunch
