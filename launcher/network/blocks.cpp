#include "launcher/network/blocks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

/// Makes units above blocks.
class Pairing {
 public:
  Pairing(const Names& base, NetworkDraft& draft) : draft_(draft) {
    for (const auto& name : base) top_.emplace(name, name);
  }

  /// Joins what these base blocks are part of, if that is more than one unit.
  void join(const std::string& name, const Names& base) {
    std::set<std::string> parts;
    std::vector<std::string*> tops;
    for (const auto& block : base) {
      const auto found = top_.find(block);
      if (found == top_.end()) continue;
      parts.insert(found->second);
      tops.push_back(&found->second);
    }
    if (parts.size() < 2) return;
    draft_.add(DescribedUnit{.name = name, .children = {parts.begin(), parts.end()}});
    for (std::string* top : tops) *top = name;
  }

 private:
  NetworkDraft& draft_;
  std::map<std::string, std::string> top_;  // base block -> the largest unit that holds it
};

}  // namespace

void add_blocks(const Blocks& blocks, NetworkDraft& draft) {
  draft.network().kind = "block";
  draft.network().levels = {"blocks", "aggregated blocks"};
  draft.network().block_size = std::max(
      0, !blocks.sizes.empty() ? *std::ranges::min_element(blocks.sizes) : blocks.base_size);
  Names base;
  for (const auto& block : blocks.base) {
    draft.add(block.name, "", block.nodes);
    base.push_back(draft.units().back().name);
  }
  Pairing pairing(base, draft);
  auto aggregated = blocks.aggregated;
  std::ranges::stable_sort(aggregated, {}, &Blocks::Aggregated::size);
  for (const auto& each : aggregated)
    pairing.join(plain_name(each.name), draft.expanded(each.name, each.name));
  if (!aggregated.empty() || blocks.sizes.empty() || blocks.sizes.front() < 1) return;
  auto sizes = blocks.sizes;
  std::ranges::sort(sizes);
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  // Slurm has as many as levels.
  sizes.resize(std::min(sizes.size(), std::size_t{max_network_levels}));
  for (const int size : sizes) {
    const auto count = static_cast<std::size_t>(size / blocks.sizes.front());
    if (count < 2) continue;
    for (std::size_t first = 0; first < base.size(); first += count) {
      const auto begin = base.begin() + static_cast<std::ptrdiff_t>(first);
      const Names part(begin,
                       begin + static_cast<std::ptrdiff_t>(std::min(count, base.size() - first)));
      pairing.join(compress_hosts(part), part);
    }
  }
}

void add_ring(std::string_view name, std::string_view nodes, NetworkDraft& draft) {
  draft.network().kind = "ring";
  draft.network().levels = {"rings"};
  draft.add(name, "", nodes);
  auto& walk = draft.network().walk;
  for (const auto& node : draft.units().back().nodes)
    walk.emplace(node, static_cast<int>(walk.size()));
}

}  // namespace dllaunch
