#include "topology/network/assemble_network.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

class Assembly {
 public:
  Assembly(Network network, const std::vector<DescribedUnit>& described)
      : network_(std::move(network)), described_(described) {}

  Network run() {
    name_units();
    join_units();
    if (!raise_levels()) return nothing("it is deeper than any network");
    place_nodes();
    if (network_.leaf_of.empty()) return nothing("it has no nodes");
    name_levels();
    complain();
    return std::move(network_);
  }

 private:
  NetworkUnit& unit(int index) { return network_.units[static_cast<std::size_t>(index)]; }

  void name_units() {
    for (const auto& line : described_) {
      const auto index = static_cast<int>(network_.units.size());
      if (index_of_.emplace(line.name, index).second) {
        network_.units.push_back({.name = line.name});
      } else {
        twice_.push_back(line.name);
      }
    }
  }

  void join_units() {
    for (const auto& line : described_) {
      const int parent = index_of_[line.name];
      for (const auto& name : line.children) {
        const auto child = index_of_.find(name);
        if (child == index_of_.end()) {
          undescribed_.push_back(name);
        } else {
          join(child->second, parent);
        }
      }
    }
  }

  void join(int child, int parent) {
    int& above = unit(child).parent;
    if (above == parent) return;
    if (above >= 0) {
      second_parents_.push_back(unit(child).name);
      return;
    }
    // At most max_network_levels steps: longer chains are refused later.
    int steps = 0;
    for (int up = parent; up >= 0 && steps < max_network_levels; up = unit(up).parent, ++steps) {
      if (up != child) continue;
      loops_.push_back(unit(child).name);
      return;
    }
    above = parent;
  }

  /// Each unit above all units on it. False: there are too many levels, or a long loop.
  bool raise_levels() {
    for (std::size_t i = 0; i < network_.units.size(); ++i) {
      int level = 0;
      for (int up = network_.units[i].parent; up >= 0; up = unit(up).parent) {
        if (++level >= max_network_levels) return false;
        int& its = unit(up).level;
        its = std::max(its, level);
      }
    }
    return true;
  }

  void place_nodes() {
    for (const auto& line : described_) {
      const int leaf = index_of_[line.name];
      for (const auto& node : line.nodes) {
        const auto [entry, is_new] = network_.leaf_of.emplace(node, leaf);
        if (!is_new && entry->second != leaf) on_two_leaves_.push_back(node);
      }
    }
  }

  void name_levels() {
    std::size_t top = 0;
    for (const auto& each : network_.units)
      top = std::max(top, static_cast<std::size_t>(each.level));
    auto& levels = network_.levels;
    if (levels.empty()) levels.emplace_back("leaf units");
    while (levels.size() <= top)
      levels.push_back("units of level " + std::to_string(levels.size()));
    levels.resize(top + 1);
  }

  void complain() {
    warn(twice_, " described more than once: their lines are joined");
    warn(undescribed_, " part of a larger unit, but not described");
    warn(second_parents_, " part of two larger units: the first counts");
    warn(loops_, " in a loop: the line that closes it is left out");
    warn(on_two_leaves_, " on two leaves: the first counts");
    warn(apart(), " not joined by a unit above them");
  }

  /// The roots, if some unit joins others, so that all should be joined.
  Names apart() const {
    Names roots;
    bool joined = false;
    for (const auto& each : network_.units) {
      joined = joined || each.parent >= 0;
      if (each.parent < 0) roots.push_back(each.name);
    }
    return joined && roots.size() > 1 ? roots : Names();
  }

  void warn(Names names, const std::string& what) {
    if (names.empty()) return;
    network_.warnings.push_back(some_of(names) + (names.size() == 1 ? " is" : " are") + what);
  }

  Network nothing(const std::string& why) {
    complain();
    network_.warnings.push_back("the description is ignored: " + why);
    return {.kind = {}, .source = network_.source, .warnings = std::move(network_.warnings)};
  }

  Network network_;
  const std::vector<DescribedUnit>& described_;
  std::unordered_map<std::string_view, int> index_of_;
  Names twice_;
  Names undescribed_;
  Names second_parents_;
  Names loops_;
  Names on_two_leaves_;
};

}  // namespace

Network assemble_network(Network network, const std::vector<DescribedUnit>& described) {
  return Assembly(std::move(network), described).run();
}

std::string some_of(const Names& names) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  const auto others = names.size() - std::min(names.size(), shown);
  if (others > 0) text += " and " + std::to_string(others) + (others > 1 ? " others" : " other");
  return text;
}

}  // namespace dllaunch
