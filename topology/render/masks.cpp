#include "topology/render/masks.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>

#include "support/json.hpp"
#include "support/position.hpp"

namespace dllaunch {
namespace {

// Whether one NUMA node with usable memory contains all of `cpus`.
bool has_own_memory(const Topology& topology, const IdSet& cpus) {
  return std::ranges::any_of(topology.numa, [&](const NumaNode& node) {
    return node.memory_bytes > 0 && topology.allowed_numa.contains(node.index) &&
           node.cpus.contains(cpus);
  });
}

}  // namespace

std::string srun_cpu_bind(const Placement& placement) {
  if (placement.policy == BindPolicy::none) return "none";
  std::string masks;
  for (const auto& rank : placement.ranks) {
    masks += masks.empty() ? "mask_cpu:" : ",";
    masks += to_mask(rank.cpus);
  }
  return masks;
}

std::string srun_map_cpu(const Placement& placement) {
  if (placement.policy == BindPolicy::none) return "none";
  std::string cpus;
  for (const auto& rank : placement.ranks) {
    cpus += cpus.empty() ? "map_cpu:" : ",";
    cpus += std::to_string(rank.cpus.first());
  }
  return cpus;
}

std::string srun_mem_bind(const Topology& topology, const Placement& placement) {
  if (placement.policy == BindPolicy::none) return "none";
  const bool all = std::ranges::all_of(
      placement.ranks, [&](const auto& rank) { return has_own_memory(topology, rank.cpus); });
  return all ? "prefer,local" : "none";
}

Json to_json(const Topology& topology, const Placement& placement) {
  Json ranks = Json::array();
  for (const auto& rank : placement.ranks) {
    Json gpus = Json::array();
    for (const int g : rank.gpus)
      gpus.push_back({{"index", topology.gpus[at(g)].index}, {"pci", topology.gpus[at(g)].pci}});
    ranks.push_back({{"local_rank", rank.local_rank},
                     {"gpus", std::move(gpus)},
                     {"cpus", to_list(rank.cpus)},
                     {"mask", to_mask(rank.cpus)},
                     {"numa", rank.numa.ids()},
                     {"nic", rank.nic},
                     {"why", rank.why}});
  }
  return {{"policy", to_string(placement.policy)},
          {"ranks", std::move(ranks)},
          {"srun",
           {{"cpu_bind", srun_cpu_bind(placement)},
            {"map_cpu", srun_map_cpu(placement)},
            {"mem_bind", srun_mem_bind(topology, placement)}}},
          {"warnings", placement.warnings}};
}

std::string render_placement(const Topology& topology, const Placement& placement) {
  constexpr std::size_t columns = 7;
  using Row = std::array<std::string, columns>;
  std::vector<Row> rows{{"RANK", "GPU", "CPUS", "MASK", "NUMA", "NIC", "WHY"}};
  for (const auto& rank : placement.ranks) {
    std::string gpus;
    for (const int g : rank.gpus)
      gpus += fmt::format("{}{}", gpus.empty() ? "" : ",", topology.gpus[at(g)].index);
    rows.push_back({std::to_string(rank.local_rank), gpus.empty() ? "-" : gpus, to_list(rank.cpus),
                    to_mask(rank.cpus), rank.numa.empty() ? "-" : to_list(rank.numa),
                    rank.nic.empty() ? "-" : rank.nic, rank.why});
  }
  std::array<std::size_t, columns> width{};
  for (const auto& row : rows)
    for (std::size_t c = 0; c < columns; ++c) width[c] = std::max(width[c], row[c].size());
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c + 1 < columns; ++c) out += fmt::format("{:<{}}  ", row[c], width[c]);
    out += row.back() + "\n";
  }
  for (const auto& warning : placement.warnings) out += fmt::format("warning: {}\n", warning);
  return out;
}

}  // namespace dllaunch
