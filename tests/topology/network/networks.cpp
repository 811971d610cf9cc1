#include "tests/topology/network/networks.hpp"

#include <algorithm>
#include <set>

namespace dllaunch {

Network regular_tree(int leaves, int width, int fan) {
  std::vector<DescribedUnit> units;
  std::vector<std::string> row;
  int node = 0;
  for (int i = 0; i < leaves; ++i) {
    DescribedUnit leaf{.name = "leaf" + std::to_string(i)};
    for (int j = 0; j < width; ++j) leaf.nodes.push_back("n" + std::to_string(node++));
    row.push_back(leaf.name);
    units.push_back(std::move(leaf));
  }
  for (int level = 1; row.size() > 1; ++level) {
    std::vector<std::string> above;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i % static_cast<std::size_t>(fan) == 0) {
        above.push_back("s" + std::to_string(level) + "-" + std::to_string(above.size()));
        units.push_back({.name = above.back()});
      }
      units.back().children.push_back(row[i]);
    }
    row = above;
  }
  return assemble_network({.kind = "tree", .source = "a regular tree"}, units);
}

Network random_tree(std::mt19937& random) {
  std::vector<DescribedUnit> units;
  const auto count = 1 + random() % 20;
  int node = 0;
  for (unsigned i = 0; i < count; ++i) {
    DescribedUnit unit{.name = "u" + std::to_string(i)};
    if (i > 0 && random() % 8 != 0)
      units[std::max(random() % i, i < 4 ? 0UL : i / 4UL)].children.push_back(unit.name);
    for (auto nodes = random() % 5; nodes > 0; --nodes)
      unit.nodes.push_back("n" + std::to_string(node++));
    units.push_back(std::move(unit));
  }
  units.front().nodes.push_back("n" + std::to_string(node));
  std::ranges::shuffle(units, random);
  return assemble_network({.kind = "tree", .source = "a random tree"}, units);
}

std::vector<std::string> nodes_of(const Network& network) {
  std::vector<std::string> all;
  for (const auto& [node, leaf] : network.leaf_of) all.push_back(node);
  return all;
}

std::vector<std::string> drawn(const Network& network, std::size_t count, std::mt19937& random) {
  auto all = nodes_of(network);
  std::ranges::shuffle(all, random);
  all.resize(std::min(count, all.size()));
  return all;
}

std::vector<int> fewest_crossings(const Network& network, const std::vector<std::string>& nodes) {
  std::vector<int> fewest;
  for (const auto& unit_of : units_by_level(network)) {
    std::set<int> used;
    for (const auto& node : nodes)
      used.insert(unit_of[static_cast<std::size_t>(network.leaf_of.find(node)->second)]);
    fewest.push_back(used.size() > 1 ? static_cast<int>(used.size()) : 0);
  }
  return fewest;
}

}  // namespace dllaunch
