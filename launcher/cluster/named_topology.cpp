#include "launcher/cluster/named_topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/cluster/probe_cache.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view probed = "probed:";

bool is_of(const ProbedNode& node, const std::string& name) {
  const auto matches = [&](const std::string& word) {
    return name == word || name == node.cluster + "/" + word;
  };
  return matches(node_type_id(node.type)) || std::ranges::any_of(node.partitions, matches);
}

Result<Topology> probed_topology(System& system, const std::string& name) {
  auto cache = read_probe_cache(system, std::nullopt);
  for (const auto& complaint : cache.complaints)
    system.log("dllaunch: warning: " + complaint + "\n");
  std::erase_if(cache.nodes, [&](const ProbedNode& node) { return !is_of(node, name); });
  if (cache.nodes.empty())
    return Error{ErrorKind::unsatisfiable, fmt::format("no node of '{}' was probed", name),
                 fmt::format("run `dllaunch probe {}`, or look at `dllaunch probe --list`", name)};
  if (cache.nodes.size() == 1) return std::move(cache.nodes.front().topology);
  std::vector<std::string> ids;
  for (const auto& node : cache.nodes)
    ids.push_back(fmt::format("{}{}/{}", probed, node.cluster, node_type_id(node.type)));
  return Error{ErrorKind::unsatisfiable,
               fmt::format("'{}' has {} kinds of node", name, cache.nodes.size()),
               fmt::format("use one of: {}", fmt::join(ids, " "))};
}

/// Whether the name is a profile's and not a file's: "lumi-g", "perlmutter:cpu".
bool names_profile(System& system, const std::string& name) {
  if (name.find_first_of("./") != std::string::npos || name.starts_with("synthetic:")) return false;
  const auto word = name.substr(0, name.find(':'));
  const auto all = profile_texts(system);
  return std::ranges::any_of(all, [&word](const auto& p) { return p.name == word; });
}

/// The first node type of a profile, or the one with that name or for that partition.
Result<Topology> profile_topology(System& system, const std::string& name) {
  const auto colon = name.find(':');
  auto profile = find_profile(system, name.substr(0, colon));
  if (!profile) return std::move(profile).error();
  std::string wanted = colon == std::string::npos ? "" : name.substr(colon + 1);
  std::vector<std::string> known;
  for (const auto& node : profile->nodes) known.push_back(node.name);
  for (const auto& partition : profile->partitions) {
    if (partition.name == wanted) wanted = partition.node;
    known.push_back(partition.name);
  }
  for (auto& node : profile->nodes)
    if (wanted.empty() || node.name == wanted) return std::move(node.topology);
  return Error{ErrorKind::bad_request,
               fmt::format("cluster profile {} describes no node{}", profile->name,
                           wanted.empty() ? "" : " '" + wanted + "'"),
               known.empty() ? "" : fmt::format("behind the colon: {}", fmt::join(known, " "))};
}

}  // namespace

Result<Topology> named_topology(System& system, const std::string& name) {
  if (name.starts_with(probed)) return probed_topology(system, name.substr(probed.size()));
  if (names_profile(system, name)) return profile_topology(system, name);
  return name.empty() ? system.topology(DeviceNames::read) : load_topology(name);
}

Result<std::optional<Topology>> cluster_topology(System& system, const std::string& cluster,
                                                 const std::string& partition) {
  auto profile = find_profile(system, cluster);
  if (!profile) return std::move(profile).error();
  const auto named = std::ranges::find(profile->partitions, partition, &ProfilePartition::name);
  if (named == profile->partitions.end() && !partition.empty() && !profile->any_cluster()) {
    system.log(
        fmt::format("warning: cluster profile {} has no partition '{}': nothing is held "
                    "against its nodes\n",
                    profile->name, partition));
    return std::optional<Topology>();
  }
  for (auto& node : profile->nodes) {
    const bool meant = named == profile->partitions.end() || named->node == node.name;
    if (meant && !node.assumed) return std::optional(std::move(node.topology));
  }
  return std::optional<Topology>();
}

Result<Topology> observed_topology(System& system, const std::string& name) {
  auto topology = named_topology(system, name);
  if (!topology || !name.empty()) return topology;
  return with_inventory(*std::move(topology), system.gpu_libraries());
}

std::string host_suffix_of(System& system, const std::string& name) {
  if (!names_profile(system, name)) return "";
  const auto profile = find_profile(system, name.substr(0, name.find(':')));
  return profile ? profile->host_suffix : "";
}

}  // namespace dllaunch
