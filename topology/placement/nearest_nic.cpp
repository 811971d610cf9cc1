#include "topology/placement/nearest_nic.hpp"

#include <algorithm>
#include <tuple>

namespace dllaunch {
namespace {

// The number of bridges that two devices share: two for "a/b/c" and "a/b/d".
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

// The place to be near: a GPU or CPUs.
struct Spot {
  const Gpu* gpu;
  const IdSet& cpus;
  IdSet numa;
};

Nearness nearness_of(const Nic& nic, const Spot& spot, int bridges) {
  // A shared host bridge alone means the same root complex; the CPUs are more precise.
  if (bridges > 1) return Nearness::same_switch;
  if (!nic.cpus.empty() && spot.cpus.contains(nic.cpus)) return Nearness::same_cpus;
  if (nic.numa.intersects(spot.numa)) return Nearness::same_numa;
  return Nearness::elsewhere;
}

// Visits every core of the node, so call it only if nothing is nearer.
IdSet packages_of(const Topology& topology, const Spot& spot) {
  auto packages = packages_of(topology, spot.cpus);
  if (spot.gpu != nullptr && spot.gpu->package >= 0 && spot.gpu->package <= IdSet::max_id)
    packages.insert(spot.gpu->package);
  return packages;
}

}  // namespace

int nearest_nic(const Topology& topology, const Gpu* gpu, const IdSet& cpus,
                const std::vector<int>& used) {
  const bool any_fabric =
      std::ranges::any_of(topology.nics, [](const Nic& nic) { return nic.fabric; });
  Spot spot{.gpu = gpu,
            .cpus = gpu != nullptr && !gpu->cpus.empty() ? gpu->cpus : cpus,
            .numa = gpu != nullptr ? gpu->numa : IdSet{}};
  if (spot.numa.empty()) spot.numa = topology.numa_of(spot.cpus);

  struct Candidate {
    std::tuple<Nearness, int, int> score;
    int nic;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < topology.nics.size(); ++i) {
    const auto& nic = topology.nics[i];
    if (any_fabric && !nic.fabric) continue;
    const int bridges = gpu != nullptr ? common_bridges(gpu->pci_path, nic.pci_path) : 0;
    candidates.push_back(
        {{nearness_of(nic, spot, bridges), -bridges, used[i]}, static_cast<int>(i)});
  }
  const auto by_score = [](const Candidate& a, const Candidate& b) { return a.score < b.score; };
  auto best = std::ranges::min_element(candidates, by_score);
  if (best == candidates.end()) return -1;
  if (std::get<Nearness>(best->score) != Nearness::elsewhere) return best->nic;
  const auto packages = packages_of(topology, spot);
  for (auto& candidate : candidates) {
    const auto& nic = topology.nics[static_cast<std::size_t>(candidate.nic)];
    if (packages_of(topology, nic.cpus).intersects(packages))
      std::get<Nearness>(candidate.score) = Nearness::same_package;
  }
  return std::ranges::min_element(candidates, by_score)->nic;
}

}  // namespace dllaunch
