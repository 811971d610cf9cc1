#include "launcher/nodes/avoided_nodes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

struct Suspect {
  std::string node = {};
  std::string why = {};
};

/// Worst first, of these nodes only.
std::vector<Suspect> suspects(const std::vector<NodeJudgement>& judged,
                              const std::vector<std::string>& avoid, const std::string& cluster,
                              const std::vector<std::string>& nodes) {
  const std::set<std::string> there(nodes.begin(), nodes.end());
  std::vector<Suspect> found;
  if (!avoids_by_judgement(avoid)) {
    for (const auto& node : named_nodes(avoid))
      if (there.contains(node)) found.push_back({node, "as the job file says"});
    return found;
  }
  for (const auto& one : judged)
    if (one.grade == NodeGrade::avoid && one.cluster == cluster && there.contains(one.node))
      found.push_back({one.node, one.why});
  return found;
}

}  // namespace

bool avoids_by_judgement(const std::vector<std::string>& avoid) {
  return avoid.size() == 1 && avoid.front() == "auto";
}

std::vector<std::string> named_nodes(const std::vector<std::string>& avoid) {
  std::vector<std::string> nodes;
  for (const auto& one : avoid) {
    const auto hosts = expand_hosts(one);
    if (hosts)
      nodes.insert(nodes.end(), hosts->begin(), hosts->end());
    else
      nodes.push_back(one);
  }
  return nodes;
}

AvoidedNodes choose_avoided(const std::vector<NodeJudgement>& judged,
                            const std::vector<std::string>& avoid, const std::string& cluster,
                            const std::vector<std::string>& partition, std::size_t needed) {
  AvoidedNodes avoided;
  const auto all = suspects(judged, avoid, cluster, partition);
  std::size_t most = partition.size() > needed ? partition.size() - needed : 0;
  auto limit = fmt::format("the job needs {} of the {}", needed,
                           counted(static_cast<int>(partition.size()), "node"));
  const auto share = static_cast<std::size_t>(
      std::max(1.0, std::floor(most_avoided_share * static_cast<double>(partition.size()))));
  if (avoids_by_judgement(avoid) && share < most) {
    most = share;
    limit = fmt::format("at most {} of the {}", most,
                        counted(static_cast<int>(partition.size()), "node"));
  }
  std::vector<std::string> left;
  for (const auto& one : all) {
    if (avoided.nodes.size() >= most) {
      left.push_back(one.node);
      continue;
    }
    avoided.nodes.push_back(one.node);
    avoided.notes.push_back(fmt::format("avoids {}: {}", one.node, one.why));
  }
  if (!left.empty())
    avoided.notes.push_back(fmt::format("does not avoid {}: {}", compress_hosts(left), limit));
  return avoided;
}

std::vector<std::string> worst_first(const std::vector<NodeJudgement>& judged,
                                     const std::vector<std::string>& avoid,
                                     const std::string& cluster,
                                     const std::vector<std::string>& allocated) {
  std::vector<std::string> nodes;
  for (const auto& one : suspects(judged, avoid, cluster, allocated)) nodes.push_back(one.node);
  return nodes;
}

}  // namespace dllaunch
