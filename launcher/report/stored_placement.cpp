#include "launcher/report/stored_placement.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "support/json_fields.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

int position_in(const Topology& topology, const Json& gpu) {
  Gpu wanted{.index = -1};
  FieldReader field(gpu, nullptr);
  field("index", wanted.index);
  field("pci", wanted.pci);
  const auto known = std::ranges::find_if(topology.gpus, [&](const Gpu& one) {
    return one.index == wanted.index && one.pci == wanted.pci;
  });
  return known == topology.gpus.end() ? -1 : static_cast<int>(known - topology.gpus.begin());
}

RankPlacement rank_of(const Json& object, const Topology& topology, int local_rank) {
  RankPlacement rank{.local_rank = local_rank};
  if (auto cpus = parse_id_list(value_at<std::string>(object, "cpus")))
    rank.cpus = *std::move(cpus);
  rank.nic = value_at<std::string>(object, "nic");
  rank.why = value_at<std::string>(object, "why");
  const auto gpus = value_at<Json>(object, "gpus");
  for (std::size_t i = 0; gpus.is_array() && i < gpus.size(); ++i) {
    const int position = gpus[i].is_object() ? position_in(topology, gpus[i]) : -1;
    if (position >= 0) rank.gpus.push_back(position);
  }
  rank.numa = topology.numa_of(rank.cpus);
  return rank;
}

}  // namespace

StoredPlacement stored_placement(const Json& plan) {
  StoredPlacement stored;
  if (const auto node = value_at<Json>(plan, "node"); node.is_object()) {
    if (auto topology = topology_from_json(node)) stored.topology = *std::move(topology);
  }
  const auto binding = value_at<Json>(plan, "binding");
  if (const auto policy = parse_bind_policy(value_at<std::string>(binding, "policy")))
    stored.placement.policy = *policy;
  const auto ranks = value_at<Json>(binding, "ranks");
  for (std::size_t i = 0; ranks.is_array() && i < ranks.size(); ++i)
    stored.placement.ranks.push_back(rank_of(ranks[i], stored.topology, static_cast<int>(i)));
  return stored;
}

}  // namespace dllaunch
