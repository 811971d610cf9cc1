#include "launcher/plan/node_topology.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

bool share_a_host(const NodeType& a, const NodeType& b) {
  const std::set<std::string> hosts(a.hosts.begin(), a.hosts.end());
  return std::any_of(b.hosts.begin(), b.hosts.end(),
                     [&](const auto& host) { return hosts.contains(host); });
}

bool same_counts(const NodeType& a, const NodeType& b) {
  return a.cpus == b.cpus && a.sockets == b.sockets && a.cores_per_socket == b.cores_per_socket &&
         a.threads_per_core == b.threads_per_core && a.gpus == b.gpus && a.gpu_type == b.gpu_type;
}

struct Found {
  const ProbedNode* usable = nullptr;
  const ProbedNode* outdated = nullptr;  // of these nodes, but Slurm now differs
};

/// facts.probed is newest first.
Found find_probe(const std::vector<ProbedNode>& probed, const NodeType& type) {
  Found found;
  for (const auto& node : probed)
    if (found.usable == nullptr && same_description(node.type, type)) found.usable = &node;
  for (const auto& node : probed) {
    if (found.usable != nullptr || !share_a_host(node.type, type)) continue;
    if (same_counts(node.type, type))
      found.usable = &node;
    else if (found.outdated == nullptr)
      found.outdated = &node;
  }
  return found;
}

/// Adds how to get a better topology, if the partition has a name.
std::string refresh_words(const std::string& partition) {
  return partition.empty() ? "`dllaunch probe`" : fmt::format("`dllaunch probe {}`", partition);
}

std::string probed_words(const ProbedNode& node, std::int64_t age_seconds) {
  return fmt::format("the topology probed on {} {}", node.host, age_words(age_seconds));
}

/// Whether CPUs and GPUs are connected alike, so that ranks are placed alike.
bool wired_alike(const Topology& a, const Topology& b) {
  return a.allowed_cpus == b.allowed_cpus &&
         std::equal(a.gpus.begin(), a.gpus.end(), b.gpus.begin(), b.gpus.end(),
                    [](const Gpu& one, const Gpu& two) { return one.cpus == two.cpus; }) &&
         std::equal(a.numa.begin(), a.numa.end(), b.numa.begin(), b.numa.end(),
                    [](const auto& one, const auto& two) { return one.cpus == two.cpus; });
}

bool has_all_features(const NodeType& type, const ProfileNode& node) {
  return std::all_of(node.features.begin(), node.features.end(), [&type](const auto& feature) {
    return std::find(type.features.begin(), type.features.end(), feature) != type.features.end();
  });
}

/// Slurm may keep CPUs of a profile's node; an example's node is like these or it is not.
bool is_like(const ProfileNode& node, const NodeType& type) {
  const auto threads = std::int64_t{type.sockets} * type.cores_per_socket * type.threads_per_core;
  return describes(node.topology, type) &&
         (!node.assumed || node.topology.cpus().size() == threads);
}

using ProfileNodes = std::vector<const ProfileNode*>;

/// The nodes that match Slurm's counts, GPU type and features; partitions get renamed.
ProfileNodes nodes_like(const ProfileNodes& nodes, const NodeType& type) {
  ProfileNodes like;
  for (const auto* node : nodes) {
    const bool other_gpu =
        !node->gpu_type.empty() && !type.gpu_type.empty() && node->gpu_type != type.gpu_type;
    if (!other_gpu && is_like(*node, type)) like.push_back(node);
  }
  ProfileNodes featured;
  std::copy_if(like.begin(), like.end(), std::back_inserter(featured),
               [&type](const auto* node) { return has_all_features(type, *node); });
  return featured.empty() ? like : featured;
}

/// The profile's node for these: the partition's, else one that matches. Example nodes are used
/// only for clusters that are not here.
const ProfileNode* profile_node(const Facts& facts, const NodeSelection& nodes) {
  if (!facts.profile) return nullptr;
  const auto& profile = *facts.profile;
  ProfileNodes known;
  for (const auto& node : profile.nodes)
    if (!node.assumed || facts.from_profile) known.push_back(&node);
  const auto named = std::find_if(profile.partitions.begin(), profile.partitions.end(),
                                  [&](const auto& p) { return p.name == nodes.partition; });
  const ProfileNode* of_partition = nullptr;
  for (const auto* node : known)
    if (named != profile.partitions.end() && node->name == named->node) of_partition = node;
  if (of_partition != nullptr && is_like(*of_partition, nodes.shape)) return of_partition;
  const auto like = nodes_like(known, nodes.shape);
  const bool clear = std::all_of(like.begin(), like.end(), [&like](const auto* node) {
    return wired_alike(node->topology, like.front()->topology);
  });
  if (!like.empty() && clear) return like.front();
  if (of_partition != nullptr) return of_partition;
  return known.size() == 1 ? known.front() : nullptr;
}

void use_profile(const std::string& profile, const ProfileNode& node, KnownTopology& known) {
  known.topology = node.topology;
  known.exact = !node.assumed && node.verified;
  known.origin.source = "profile";
  known.origin.host = profile;
  if (node.assumed)
    known.warnings.push_back(
        fmt::format("the {} node of profile {} is an example: each rank binds on the node it gets",
                    node.name, profile));
}

}  // namespace

KnownTopology known_topology(const Facts& facts, const NodeSelection& nodes) {
  const auto& type = nodes.shape;
  KnownTopology known;
  known.origin.partition = nodes.partition;
  auto described = type;
  described.hosts = nodes.hosts;
  const auto* profiled = profile_node(facts, nodes);
  const bool fits = profiled != nullptr && is_like(*profiled, type);
  if (fits && profiled->reserve != "none") known.origin.reserve = profiled->reserve;
  const auto [usable, outdated] = find_probe(facts.probed, described);
  if (usable != nullptr) {
    const auto age = std::max<std::int64_t>(0, facts.time - usable->time);
    if (describes(usable->topology, type)) {
      known.topology = usable->topology;
      known.exact = true;
      known.origin.source = "probe";
      known.origin.host = usable->host;
      known.origin.age_seconds = age;
      return known;
    }
    known.warnings.push_back(fmt::format("{} has {}, {} have {} according to Slurm: it is not used",
                                         probed_words(*usable, age), shape_words(usable->topology),
                                         nodes.where, shape_words(type)));
  } else if (outdated != nullptr) {
    const auto age = std::max<std::int64_t>(0, facts.time - outdated->time);
    known.warnings.push_back(
        fmt::format("{} is not used: Slurm described the node as {} then, and as {} now; {} looks "
                    "again",
                    probed_words(*outdated, age), shape_words(outdated->type), shape_words(type),
                    refresh_words(nodes.partition)));
  }
  if (fits) {
    use_profile(facts.profile->name, *profiled, known);
    return known;
  }
  if (profiled != nullptr && !profiled->assumed)
    known.warnings.push_back(fmt::format(
        "cluster profile {} gives a {} node {}, {} have {} according to Slurm: it is not used",
        facts.profile->name, profiled->name, shape_words(profiled->topology), nodes.where,
        shape_words(type)));
  if (facts.topology && describes(*facts.topology, type)) {
    known.topology = *facts.topology;
    known.exact = true;
    known.origin.source = "facts";
    return known;
  }
  if (facts.topology)
    known.warnings.push_back(fmt::format(
        "the topology in the facts is of another kind of node than {}: not used", nodes.where));
  known.topology =
      topology_from_counts(type.sockets, type.cores_per_socket, type.threads_per_core, type.gpus);
  known.origin.source = facts.slurm && facts.slurm->any_cluster ? "job" : "slurm";
  return known;
}

bool same_on_every_kind(const Facts& facts, const NodeSelection& nodes,
                        const PlacementRequest& request, const Placement& placement) {
  return std::all_of(nodes.others.begin(), nodes.others.end(), [&](const NodeType& kind) {
    auto other = nodes;
    other.shape = kind;
    other.hosts = kind.hosts;
    const auto known = known_topology(facts, other);
    if (!known.exact) return false;
    const auto placed = place_ranks(known.topology, request);
    return placed &&
           std::equal(placed->ranks.begin(), placed->ranks.end(), placement.ranks.begin(),
                      placement.ranks.end(), [](const RankPlacement& a, const RankPlacement& b) {
                        return a.cpus == b.cpus;
                      });
  });
}

std::string origin_words(const TopologyOrigin& origin) {
  if (origin.source == "probe")
    return fmt::format("probed on {}, {}; {} refreshes it", origin.host,
                       age_words(origin.age_seconds.value_or(0)), refresh_words(origin.partition));
  if (origin.source == "profile") return fmt::format("as cluster profile {} has it", origin.host);
  if (origin.source == "facts") return "as the facts have it";
  if (origin.source == "job")
    return "an example with what the job asks for; each rank looks again on its node";
  if (origin.source == "slurm")
    return fmt::format("Slurm's counts alone; each rank looks again on its node, {} looks now",
                       refresh_words(origin.partition));
  return "this machine";
}

}  // namespace dllaunch
