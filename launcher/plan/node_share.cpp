#include "launcher/plan/node_share.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

namespace dllaunch {

int devices_of(const Topology& topology, const Placement& placement) {
  std::set<std::string> devices;
  for (const auto& rank : placement.ranks) {
    for (const int position : rank.gpus) {
      const Gpu& gpu = topology.gpus[static_cast<std::size_t>(position)];
      devices.insert(gpu.pci.empty() ? fmt::format("{}", gpu.index) : gpu.pci);
    }
  }
  return static_cast<int>(devices.size());
}

NodeShare share_of_ranks(const Topology& topology, const Placement& placement) {
  IdSet cpus;
  for (const auto& rank : placement.ranks) cpus |= rank.cpus;
  if (placement.policy == BindPolicy::none) cpus = topology.allowed_cpus;
  const auto cores = std::ranges::count_if(
      topology.cores, [&cpus](const Core& core) { return core.cpus.intersects(cpus); });
  NodeShare share{.gpus = devices_of(topology, placement)};
  if (cores > 0) share.cores = static_cast<int>(cores);
  return share;
}

}  // namespace dllaunch
