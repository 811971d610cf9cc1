#include "launcher/network/torus.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace dllaunch {

void add_toruses(std::vector<TorusNode> nodes, NetworkDraft& draft) {
  std::map<std::string, int> rows;  // of a plane, by torus
  for (const auto& node : nodes) {
    int& count = rows[node.torus];
    count = std::max(count, node.y + 1);
  }
  const auto place = [&rows](const TorusNode& node) {
    const int y = node.z % 2 == 0 ? node.y : rows.find(node.torus)->second - 1 - node.y;
    const auto row = static_cast<long>(node.z) * rows.find(node.torus)->second + y;
    return std::tuple(std::string_view(node.torus), row, row % 2 == 0 ? node.x : -node.x);
  };
  std::ranges::stable_sort(nodes, {}, place);

  draft.network().levels = {"rows", "planes", "tori"};
  std::map<std::string, DescribedUnit> units;  // by name
  auto& walk = draft.network().walk;
  std::vector<std::string> twice;
  for (auto& node : nodes) {
    if (!walk.emplace(node.name, static_cast<int>(walk.size())).second) {
      twice.push_back(node.name);
      continue;
    }
    const auto plane = node.torus + ":z" + std::to_string(node.z);
    const auto row = plane + ":y" + std::to_string(node.y);
    const auto part_of = [&units](const std::string& whole, const std::string& part) {
      auto& unit = units[whole];
      unit.name = whole;
      if (!units.contains(part)) unit.children.push_back(part);
    };
    part_of(node.torus, plane);
    part_of(plane, row);
    auto& unit = units[row];
    unit.name = row;
    unit.nodes.push_back(std::move(node.name));
  }
  for (auto& [name, unit] : units) draft.add(std::move(unit));
  if (!twice.empty())
    draft.network().warnings.push_back(some_of(twice) + " at two places of a torus");
}

}  // namespace dllaunch
