#include "launcher/launch/avoid_nodes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/nodes/avoided_nodes.hpp"
#include "launcher/nodes/node_book.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/option_overrides.hpp"

namespace dllaunch {
namespace {

std::string book_of_profile(const Facts& facts) {
  return facts.profile ? facts.profile->node_book : "";
}

/// Those of the job's partitions, without one of the default one, that it does not exclude already
/// and that can start jobs.
std::vector<std::string> candidates(const Job& job, const SlurmFacts& slurm) {
  const auto named = "," + job.resources.partition.value_or("") + ",";
  std::set<std::string> nodes;
  for (const auto& partition : slurm.partitions) {
    const bool wanted = job.resources.partition
                            ? named.find("," + partition.name + ",") != std::string::npos
                            : partition.is_default;
    if (!wanted) continue;
    for (const auto& type : partition.node_types)
      nodes.insert(type.hosts.begin(), type.hosts.end());
  }
  if (const auto excluded = expand_hosts(job.resources.exclude.value_or("")))
    for (const auto& host : *excluded) nodes.erase(host);
  for (const auto& outage : slurm.outages)
    for (const auto& host : outage.hosts) nodes.erase(host);
  return {nodes.begin(), nodes.end()};
}

/// A mistyped name would silently avoid nothing.
std::vector<std::string> unknown_nodes(const std::vector<std::string>& avoid,
                                       const SlurmFacts& slurm) {
  std::set<std::string> known;
  for (const auto& partition : slurm.partitions)
    for (const auto& type : partition.node_types)
      known.insert(type.hosts.begin(), type.hosts.end());
  auto nodes = named_nodes(avoid);
  std::erase_if(nodes, [&known](const auto& node) { return known.contains(node); });
  return nodes;
}

/// Why nodes cannot be left out; empty: they can.
std::string obstacle(const Job& job) {
  const auto& resources = job.resources;
  if (resources.exclude.value_or("").find('/') != std::string::npos)
    return "resources.exclude names a file";
  for (const auto& line : resources.sbatch_extra)
    if (const auto option = option_of_line(line);
        option && (option->first == "--nodelist" || option->first == "--nodefile"))
      return option->first + " names the job's nodes";
  return "";
}

}  // namespace

std::string site_node_book(System& system) {
  if (system.environment(node_book_variable)) return "";
  const auto facts = find_facts(system, {});
  return facts ? book_of_profile(*facts) : "";
}

std::vector<std::string> avoid_nodes(System& system, Job& job, const Facts& facts) {
  const auto& avoid = job.recovery.avoid;
  if (avoid.empty() || !facts.slurm) return {};
  if (const auto why = obstacle(job); !why.empty()) return {"recovery.avoid has no effect: " + why};
  std::vector<NodeJudgement> judged;
  const bool by_book = avoids_by_judgement(avoid);
  if (const auto book = by_book ? find_node_book(system, book_of_profile(facts)) : std::nullopt) {
    const auto read = read_node_book(*book);
    if (!read) return {"recovery.avoid has no effect: " + read.error().what};
    judged = judge_nodes(read->all, unix_seconds());
  }
  const auto& fewest = job.recovery.min_nodes > 0 ? job.recovery.min_nodes : job.resources.nodes;
  const auto needed = static_cast<std::size_t>(std::max(1, fewest + job.recovery.spare_nodes));
  auto chosen =
      choose_avoided(judged, avoid, facts.slurm->cluster, candidates(job, *facts.slurm), needed);
  if (!chosen.nodes.empty()) {
    auto& exclude = job.resources.exclude;
    const auto more = compress_host_set(chosen.nodes);
    exclude = exclude.value_or("").empty() ? more : *exclude + "," + more;
  }
  if (const auto none = by_book ? std::vector<std::string>() : unknown_nodes(avoid, *facts.slurm);
      !none.empty())
    chosen.notes.push_back(fmt::format("{}: this cluster has no such node", compress_hosts(none)));
  for (auto& note : chosen.notes) note = "recovery.avoid: " + note;
  return std::move(chosen.notes);
}

}  // namespace dllaunch
