#include "topology/network/network.hpp"

#include <algorithm>
#include <numeric>

namespace dllaunch {

bool is_sound(const Network& network) {
  const auto count = static_cast<int>(network.units.size());
  const auto levels = static_cast<int>(network.levels.size());
  if (levels > max_network_levels) return false;
  for (const NetworkUnit& unit : network.units) {
    if (unit.level < 0 || unit.level >= levels || unit.parent < -1 || unit.parent >= count)
      return false;
    if (unit.parent >= 0 &&
        network.units[static_cast<std::size_t>(unit.parent)].level <= unit.level)
      return false;
  }
  const auto has_leaf = [count](const auto& entry) {
    return entry.second >= 0 && entry.second < count;
  };
  const auto has_place = [&](const auto& entry) { return network.walk.contains(entry.first); };
  return std::ranges::all_of(network.leaf_of, has_leaf) &&
         (network.walk.empty() || std::ranges::all_of(network.leaf_of, has_place));
}

LeafWidths leaf_widths(const Network& network) {
  std::map<int, int> widths;
  for (const auto& [node, leaf] : network.leaf_of) ++widths[leaf];
  LeafWidths found;
  for (const auto& [leaf, width] : widths) {
    found.narrowest = found.narrowest == 0 ? width : std::min(found.narrowest, width);
    found.widest = std::max(found.widest, width);
  }
  return found;
}

int segment_limit(const Network& network) {
  if (network.kind != "block") return 0;
  return network.block_size > 0 ? network.block_size : leaf_widths(network).narrowest;
}

int widest_segment(int nodes, int limit) {
  int size = std::min(nodes, limit);
  while (size > 1 && nodes % size != 0) --size;
  return std::max(size, 1);
}

std::vector<std::vector<int>> units_by_level(const Network& network) {
  const auto& units = network.units;
  std::vector<std::size_t> downwards(units.size());
  std::iota(downwards.begin(), downwards.end(), 0U);
  std::ranges::stable_sort(
      downwards, [&](std::size_t a, std::size_t b) { return units[a].level > units[b].level; });
  std::vector<std::vector<int>> all(network.levels.size(), std::vector<int>(units.size()));
  for (std::size_t level = 0; level < all.size(); ++level) {
    for (const std::size_t i : downwards) {
      const auto parent = static_cast<std::size_t>(units[i].parent);
      const bool goes_on = units[i].parent >= 0 && units[parent].level <= static_cast<int>(level);
      all[level][i] = goes_on ? all[level][parent] : static_cast<int>(i);
    }
  }
  return all;
}

}  // namespace dllaunch
