#include "launcher/network/draw_network.hpp"

#include <algorithm>
#include <utility>

#include "launcher/base/table.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"
#include "topology/network/network_order.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

/// The nodes of the job on each unit and below it.
struct Used {
  std::vector<std::vector<std::string>> on = {};
  std::vector<int> below = {};
};

Used used_units(const Network& network, const Names& nodes) {
  Used used{.on = std::vector<Names>(network.units.size()),
            .below = std::vector<int>(network.units.size())};
  for (const auto& node : nodes) {
    const auto leaf = network.leaf_of.find(node);
    if (leaf == network.leaf_of.end()) continue;
    used.on[static_cast<std::size_t>(leaf->second)].push_back(node);
    for (int unit = leaf->second; unit >= 0;
         unit = network.units[static_cast<std::size_t>(unit)].parent)
      ++used.below[static_cast<std::size_t>(unit)];
  }
  return used;
}

/// In the order of the nodes: the units of the first, then what is new of the next.
std::vector<TableRow> tree_rows(const Network& network, const OrderedNodes& nodes) {
  const auto used = used_units(network, nodes.ordered);
  std::vector<TableRow> rows;
  std::vector<bool> shown(network.units.size());
  for (const auto& node : nodes.ordered) {
    const auto leaf = network.leaf_of.find(node);
    if (leaf == network.leaf_of.end()) continue;
    std::vector<std::size_t> chain;
    for (int unit = leaf->second; unit >= 0; unit = network.units[chain.back()].parent)
      chain.push_back(static_cast<std::size_t>(unit));
    for (std::size_t depth = 0; depth < chain.size(); ++depth) {
      const auto unit = chain[chain.size() - 1 - depth];
      if (shown[unit]) continue;
      shown[unit] = true;
      rows.push_back({std::string(2 * depth, ' ') + network.units[unit].name,
                      counted(used.below[unit], "node"), compress_hosts(used.on[unit])});
    }
  }
  return rows;
}

/// How many units of each level hold a node of the job.
std::vector<int> used_by_level(const Network& network, const Names& nodes) {
  const auto used = used_units(network, nodes);
  std::vector<int> counts(network.levels.size());
  for (std::size_t i = 0; i < used.below.size(); ++i) {
    if (used.below[i] > 0) ++counts[static_cast<std::size_t>(network.units[i].level)];
  }
  return counts;
}

}  // namespace

OrderedNodes order_nodes(const Network& network, Names nodes) {
  OrderedNodes all{.given = std::move(nodes)};
  all.why_not = why_not_ordered(network, all.given);
  all.ordered = network_order(network, all.given);
  auto alphabetical = all.given;
  std::ranges::sort(alphabetical);
  const auto given = ring_crossings(network, all.given);
  const auto sorted = ring_crossings(network, alphabetical);
  const auto ordered = ring_crossings(network, all.ordered);
  for (std::size_t level = 0; level < given.size(); ++level)
    all.by_level.push_back(
        {.given = given[level], .alphabetical = sorted[level], .ordered = ordered[level]});
  return all;
}

std::string draw_network(const Network& network, const OrderedNodes& nodes) {
  std::string text = network.source + ": ";
  const auto counts = used_by_level(network, nodes.ordered);
  text += counted(static_cast<int>(nodes.ordered.size()), "node");
  for (std::size_t level = 0; level < counts.size(); ++level)
    text += ", " + network.levels[level] + ": " + std::to_string(counts[level]);
  text += "\n\n" + table_text(tree_rows(network, nodes), "  ");
  text += "\norder of ranks\n  " + compress_hosts(nodes.ordered) + "\n";
  if (!nodes.why_not.empty()) text += "  as given: " + nodes.why_not + "\n";
  std::vector<TableRow> rows = {{"edges of a ring that leave", "given", "alphabetical", "ordered"}};
  for (std::size_t level = 0; level < nodes.by_level.size(); ++level) {
    const auto& [given, alphabetical, ordered] = nodes.by_level[level];
    if (counts[level] < 2 && level > 0) continue;
    rows.push_back({network.levels[level], std::to_string(given), std::to_string(alphabetical),
                    std::to_string(ordered)});
  }
  return text + "\n" + table_text(rows);
}

Json to_json(const Network& network, const OrderedNodes& nodes) {
  const auto counts = used_by_level(network, nodes.ordered);
  Json levels = Json::array();
  for (std::size_t level = 0; level < counts.size(); ++level)
    levels.push_back({{"name", network.levels[level]}, {"units", counts[level]}});
  const auto leaves = nodes.by_level.empty() ? OrderedNodes::Crossings() : nodes.by_level.front();
  return {{"source", network.source},
          {"kind", network.kind},
          {"levels", std::move(levels)},
          {"order", nodes.ordered},
          {"crossings",
           {{"given", leaves.given},
            {"alphabetical", leaves.alphabetical},
            {"ordered", leaves.ordered}}},
          {"why_not_ordered", nodes.why_not},
          {"warnings", network.warnings}};
}

}  // namespace dllaunch
