#include "topology/nearest_nic.hpp"

#include <algorithm>
#include <tuple>

namespace dllaunch {
namespace {

// Bridges that two devices have in common: "a/b/c" and "a/b/d" share two.
int common_bridges(std::string_view left, std::string_view right) {
  int common = 0;
  while (!left.empty() && !right.empty()) {
    const auto left_end = left.find('/');
    const auto right_end = right.find('/');
    if (left.substr(0, left_end) != right.substr(0, right_end)) break;
    ++common;
    left.remove_prefix(left_end == std::string_view::npos ? left.size() : left_end + 1);
    right.remove_prefix(right_end == std::string_view::npos ? right.size() : right_end + 1);
  }
  return common;
}

IdSet packages_of(const Topology& topology, const IdSet& cpus) {
  IdSet packages;
  for (const auto& core : topology.cores)
    if (core.package >= 0 && core.package <= IdSet::max_id && core.cpus.intersects(cpus))
      packages.insert(core.package);
  return packages;
}

enum class Nearness { same_switch, same_cpus, same_numa, same_package, elsewhere };

}  // namespace

int nearest_nic(const Topology& topology, const Gpu* gpu, const IdSet& cpus,
                const std::vector<int>& used) {
  const bool any_fabric = std::any_of(topology.nics.begin(), topology.nics.end(),
                                      [](const Nic& nic) { return nic.fabric; });
  const IdSet& local = gpu != nullptr && !gpu->cpus.empty() ? gpu->cpus : cpus;
  IdSet numa = gpu != nullptr ? gpu->numa : IdSet{};
  if (numa.empty()) numa = topology.numa_of(local);
  IdSet packages = packages_of(topology, local);
  if (gpu != nullptr && gpu->package >= 0 && gpu->package <= IdSet::max_id)
    packages.insert(gpu->package);

  int best = -1;
  std::tuple<Nearness, int, int> best_score;
  for (std::size_t i = 0; i < topology.nics.size(); ++i) {
    const auto& nic = topology.nics[i];
    if (any_fabric && !nic.fabric) continue;
    const int bridges = gpu != nullptr ? common_bridges(gpu->pci_path, nic.pci_path) : 0;
    auto nearness = Nearness::elsewhere;
    // A host bridge alone is a whole root complex: the CPUs tell more than that.
    if (bridges > 1)
      nearness = Nearness::same_switch;
    else if (!nic.cpus.empty() && local.contains(nic.cpus))
      nearness = Nearness::same_cpus;
    else if (nic.numa.intersects(numa))
      nearness = Nearness::same_numa;
    else if (packages_of(topology, nic.cpus).intersects(packages))
      nearness = Nearness::same_package;
    const std::tuple score{nearness, -bridges, used[i]};
    if (best < 0 || score < best_score) {
      best = static_cast<int>(i);
      best_score = score;
    }
  }
  return best;
}

}  // namespace dllaunch
