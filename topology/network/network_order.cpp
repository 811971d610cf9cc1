#include "topology/network/network_order.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "topology/network/natural_order.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

constexpr int never = std::numeric_limits<int>::max();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// A node of the job.
struct Member {
  const std::string* name = nullptr;
  int leaf = 0;
  int place = 0;       // among all: where it was, or where the lost node was
  int from_level = 0;  // of the lowest unit that held the lost node too; never: replaces none
};

std::unordered_map<std::string_view, int> places_of(const Names& names) {
  std::unordered_map<std::string_view, int> places;
  for (const auto& name : names) places.emplace(name, static_cast<int>(places.size()));
  return places;
}

bool are_the_same_nodes(Names nodes, Names before) {
  std::ranges::sort(nodes);
  std::ranges::sort(before);
  return nodes == before;
}

/// The members in the order in which people count.
std::vector<Member> members_of(const Network& network, const Names& nodes) {
  std::vector<Member> members;
  members.reserve(nodes.size());
  for (const auto& name : nodes)
    members.push_back({.name = &name, .leaf = network.leaf_of.find(name)->second});
  std::ranges::sort(
      members, [](const Member& a, const Member& b) { return counts_before(*a.name, *b.name); });
  for (std::size_t i = 0; i < members.size(); ++i) members[i].place = static_cast<int>(i);
  return members;
}

/// Gives each new node the place of a lost one, the nearest first.
class Replacement {
 public:
  Replacement(const Network& network, const Names& before, std::vector<Member>& members)
      : network_(network), before_(before), places_(places_of(before)) {
    std::set<std::string_view> now;
    for (Member& member : members) {
      now.insert(*member.name);
      const auto was = places_.find(*member.name);
      if (was == places_.end()) {
        spares_.push_back(&member);
      } else {
        member.place = was->second;
      }
    }
    for (const auto& name : before_) {
      if (!now.contains(name)) lost_.push_back(&name);
    }
  }

  void run(const std::vector<std::vector<int>>& unit_at) {
    for (std::size_t level = 0; level < unit_at.size(); ++level) within(unit_at[level], level);
    auto next = lost_.begin();
    int after = static_cast<int>(before_.size());
    for (Member* spare : spares_) {
      spare->from_level = never;
      spare->place = next != lost_.end() ? places_[**next++] : after++;
    }
  }

 private:
  void within(const std::vector<int>& unit_of, std::size_t level) {
    std::map<int, std::vector<const std::string*>> lost_in;  // unit -> its lost nodes, last first
    for (auto name = lost_.rbegin(); name != lost_.rend(); ++name) {
      const auto leaf = network_.leaf_of.find(**name);
      if (leaf != network_.leaf_of.end()) lost_in[unit_of[at(leaf->second)]].push_back(*name);
    }
    std::set<const std::string*> replaced;
    std::erase_if(spares_, [&](Member* spare) {
      const auto found = lost_in.find(unit_of[at(spare->leaf)]);
      if (found == lost_in.end() || found->second.empty()) return false;
      spare->place = places_[*found->second.back()];
      spare->from_level = static_cast<int>(level);
      replaced.insert(found->second.back());
      found->second.pop_back();
      return true;
    });
    std::erase_if(lost_, [&](const auto* name) { return replaced.contains(name); });
  }

  const Network& network_;
  const Names& before_;
  std::unordered_map<std::string_view, int> places_;
  std::vector<Member*> spares_;
  std::vector<const std::string*> lost_;
};

/// Where a unit comes among its siblings. Nodes that stay decide, and new ones that replace a node
/// of the unit; if it has neither, the other new ones do.
struct UnitPlace {
  int firm = never;
  int weak = never;

  int place() const { return firm != never ? firm : weak; }
};

/// From the roots to the nodes. An item is a unit, or, after all units, the nodes on a unit.
class TreeWalk {
 public:
  TreeWalk(const Network& network, const std::vector<Member>& members)
      : units_(network.units),
        places_(2 * units_.size()),
        below_(units_.size()),
        on_(units_.size()) {
    for (const Member& member : members) {
      if (on_[at(member.leaf)].empty()) below_[at(member.leaf)].push_back(nodes_on(member.leaf));
      on_[at(member.leaf)].push_back(&member);
      note(member, nodes_on(member.leaf), 0);
      for (int unit = member.leaf; unit >= 0; unit = units_[at(unit)].parent)
        note(member, unit, units_[at(unit)].level);
    }
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (places_[i].place() == never) continue;
      const int parent = units_[i].parent;
      (parent < 0 ? roots_ : below_[at(parent)]).push_back(static_cast<int>(i));
    }
  }

  Names run() {
    Names order;
    std::vector<int> next;
    push(roots_, next);
    while (!next.empty()) {
      const std::size_t item = at(next.back());
      next.pop_back();
      if (item < units_.size()) {
        push(below_[item], next);
        continue;
      }
      auto& nodes = on_[item - units_.size()];
      std::ranges::sort(nodes, {}, &Member::place);
      for (const Member* member : nodes) order.push_back(*member->name);
    }
    return order;
  }

 private:
  int nodes_on(int unit) const { return static_cast<int>(units_.size()) + unit; }

  void note(const Member& member, int item, int level) {
    auto& [firm, weak] = places_[at(item)];
    int& place = member.from_level <= level ? firm : weak;
    place = std::min(place, member.place);
  }

  /// The first on top.
  void push(std::vector<int>& items, std::vector<int>& next) {
    std::ranges::stable_sort(items, std::ranges::greater{},
                             [this](int item) { return places_[at(item)].place(); });
    next.insert(next.end(), items.begin(), items.end());
  }

  const std::vector<NetworkUnit>& units_;
  std::vector<UnitPlace> places_;
  std::vector<std::vector<int>> below_;
  std::vector<std::vector<const Member*>> on_;
  std::vector<int> roots_;
};

/// Along the walk, from the first node of `before` that is still there.
Names walk_order(const Network& network, Names nodes, const Names& before) {
  const auto place = [&](const std::string& name) { return network.walk.find(name)->second; };
  std::ranges::sort(nodes, [&](const std::string& a, const std::string& b) {
    const int left = place(a);
    const int right = place(b);
    return left != right ? left < right : counts_before(a, b);
  });
  for (const auto& name : before) {
    const auto first = std::ranges::find(nodes, name);
    if (first == nodes.end()) continue;
    std::rotate(nodes.begin(), first, nodes.end());
    break;
  }
  return nodes;
}

/// The known name that is `name` but for zeros before its last number: n019 for n19; or "".
std::string known_alike(const Network& network, const std::string& name) {
  const auto bare = [](std::string_view text) {
    const auto end = text.find_last_of("0123456789");
    if (end == std::string_view::npos) return std::string(text);
    auto first = text.find_last_not_of("0123456789", end) + 1;  // npos + 1 is 0
    const auto begin = first;
    while (first < end && text[first] == '0') ++first;
    return std::string(text.substr(0, begin)).append(text.substr(first));
  };
  const auto wanted = bare(name);
  for (const auto& [known, leaf] : network.leaf_of) {
    if (bare(known) == wanted) return known;
  }
  return "";
}

}  // namespace

std::string why_not_ordered(const Network& network, const Names& nodes) {
  if (network.leaf_of.empty()) return "the network between the nodes is not known";
  if (!is_sound(network)) return "the description of the network contradicts itself";
  std::vector<const std::string*> unknown;
  std::set<std::string_view> seen;
  for (const auto& name : nodes) {
    if (!seen.insert(name).second) return name + " is listed twice";
    if (!network.leaf_of.contains(name)) unknown.push_back(&name);
  }
  if (unknown.empty()) return "";
  auto text = network.source + " does not have " + *unknown.front();
  if (const auto alike = known_alike(network, *unknown.front()); !alike.empty())
    text += " (it has " + alike + ")";
  const auto others = unknown.size() - 1;
  if (others > 0) text += " and " + std::to_string(others) + (others > 1 ? " others" : " other");
  return text;
}

Names network_order(const Network& network, Names nodes, const Names& before) {
  if (!before.empty() && are_the_same_nodes(nodes, before)) return before;
  if (!why_not_ordered(network, nodes).empty()) return nodes;
  if (!network.walk.empty()) return walk_order(network, std::move(nodes), before);
  auto members = members_of(network, nodes);
  if (!before.empty()) Replacement(network, before, members).run(units_by_level(network));
  return TreeWalk(network, members).run();
}

std::vector<int> ring_crossings(const Network& network, const Names& order) {
  if (network.leaf_of.empty() || !is_sound(network)) return {};
  std::vector<int> leaves;
  leaves.reserve(order.size());
  for (const auto& name : order) {
    const auto found = network.leaf_of.find(name);
    leaves.push_back(found == network.leaf_of.end() ? -1 : found->second);
  }
  std::vector<int> crossings;
  for (const auto& unit_of : units_by_level(network)) {
    int count = 0;
    for (std::size_t i = 0; i < leaves.size() && leaves.size() > 1; ++i) {
      const int from = leaves[i];
      const int to = leaves[(i + 1) % leaves.size()];
      count += from < 0 || to < 0 || unit_of[at(from)] != unit_of[at(to)] ? 1 : 0;
    }
    crossings.push_back(count);
  }
  return crossings;
}

}  // namespace dllaunch
