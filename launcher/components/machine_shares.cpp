#include "launcher/components/machine_shares.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace dllaunch {
namespace {

/// `all` in shares: what each asks for, and equal parts of the rest, the larger ones first.
std::vector<int> divided(int all, const std::vector<std::optional<int>>& asked) {
  const auto open = std::ranges::count_if(asked, [](const auto& one) { return !one.has_value(); });
  int left = all;
  for (const auto& one : asked) left -= one.value_or(0);
  left = std::max(0, left);
  std::vector<int> shares;
  int seen = 0;
  for (const auto& one : asked) {
    const int part =
        one ? *one : left / static_cast<int>(open) + (seen < left % static_cast<int>(open) ? 1 : 0);
    if (!one) ++seen;
    shares.push_back(part);
  }
  return shares;
}

std::optional<int> cores_of(const Resources& asked) {
  if (!asked.cpus_per_rank) return std::nullopt;
  return *asked.cpus_per_rank * asked.ranks_per_node.value_or(1);
}

std::optional<int> gpus_of(const Resources& asked) {
  if (asked.device == "cpu") return 0;
  if (asked.gpus) return asked.gpus;
  return asked.gpus_per_node;
}

}  // namespace

std::vector<MachineShare> share_machine(const Topology& node,
                                        const std::vector<JobComponent>& components) {
  std::vector<IdSet> cores;
  for (const Core& core : node.cores) {
    auto usable = core.cpus & node.allowed_cpus;
    if (!usable.empty()) cores.push_back(std::move(usable));
  }
  std::vector<std::optional<int>> asked_cores;
  std::vector<std::optional<int>> asked_gpus;
  for (const auto& component : components) {
    asked_cores.push_back(cores_of(component.job.resources));
    asked_gpus.push_back(gpus_of(component.job.resources));
  }
  const int have = static_cast<int>(cores.size());
  auto counts = divided(have, asked_cores);
  const bool too_few = std::accumulate(counts.begin(), counts.end(), 0) > have ||
                       std::ranges::find(counts, 0) != counts.end();
  // Rather equal parts than none.
  if (too_few)
    counts = divided(have, std::vector<std::optional<int>>(components.size(), std::nullopt));
  const auto gpus = divided(static_cast<int>(node.gpus.size()), asked_gpus);
  std::vector<MachineShare> shares;
  std::size_t next = 0;
  int next_gpu = 0;
  for (std::size_t i = 0; i < components.size(); ++i) {
    MachineShare share;
    for (int taken = 0; taken < counts[i] && next < cores.size(); ++taken)
      share.cpus |= cores[next++];
    if (share.cpus.empty()) share.cpus = node.allowed_cpus;  // fewer cores than components
    for (int taken = 0; taken < gpus[i] && next_gpu < std::ssize(node.gpus); ++taken)
      share.gpus.push_back(next_gpu++);
    shares.push_back(std::move(share));
  }
  return shares;
}

Topology with_share(Topology node, const MachineShare& share) {
  node.allowed_cpus = share.cpus;
  std::vector<Gpu> gpus;
  for (const int gpu : share.gpus) gpus.push_back(node.gpus[static_cast<std::size_t>(gpu)]);
  node.gpus = std::move(gpus);
  return node;
}

}  // namespace dllaunch
