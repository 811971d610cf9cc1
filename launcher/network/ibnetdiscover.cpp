#include "launcher/network/ibnetdiscover.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "launcher/base/split.hpp"
#include "launcher/network/network_draft.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

using Ids = std::vector<int>;  // of switches, ascending

/// The text between the next two quotes, which `line` loses; "" if there are none.
std::string_view take_quoted(std::string_view& line) {
  const auto open = line.find('"');
  if (open == line.npos) return "";
  const auto close = line.find('"', open + 1);
  if (close == line.npos) return "";
  const auto text = line.substr(open + 1, close - open - 1);
  line.remove_prefix(close + 1);
  return text;
}

/// "n1" of "n1.cluster mlx5_0"; "" of a description of a card ("MT4129 ConnectX7 Mellanox").
std::string_view host_of(std::string_view description) {
  const auto blank = description.find(' ');
  if (blank != description.npos && description.find(' ', blank + 1) != description.npos) return "";
  const auto host = description.substr(0, std::min(blank, description.find('.')));
  return host == "localhost" ? "" : host;
}

/// "A09-LEAF-04" of "MF0;A09-LEAF-04:MQM9701/U1".
std::string short_name(std::string_view description) {
  description.remove_prefix(
      std::min(description.find(';') + 1, description.size()));  // npos + 1: 0
  return plain_name(description.substr(0, description.find(':')));
}

struct Fabric {
  std::vector<std::string> names;                           // of switches
  std::vector<std::set<int>> links;                         // between switches
  std::map<std::string, std::set<int>, std::less<>> hosts;  // and the switches they hang on
  std::set<std::string, std::less<>> nameless;  // descriptions of adapters without a host
};

class Reader {
 public:
  Fabric run(std::string_view text) {
    for (const auto line : split_lines(text)) {
      if (line.starts_with("Switch")) {
        begin_switch(line);
      } else if (line.starts_with("Ca")) {
        begin_adapter(line);
      } else if (line.starts_with('[')) {
        link(line);
      } else {
        switch_ = -1;
        adapter_ = "";
      }
    }
    name_switches();
    return std::move(fabric_);
  }

 private:
  int id_of(std::string_view guid) {
    const auto [found, is_new] = ids_.emplace(guid, static_cast<int>(fabric_.links.size()));
    if (is_new) {
      fabric_.links.emplace_back();
      descriptions_.emplace_back();
    }
    return found->second;
  }

  void begin_switch(std::string_view line) {
    adapter_ = "";
    switch_ = id_of(take_quoted(line));
    descriptions_[static_cast<std::size_t>(switch_)] = take_quoted(line);
  }

  void begin_adapter(std::string_view line) {
    switch_ = -1;
    take_quoted(line);
    adapter_ = take_quoted(line);
  }

  void link(std::string_view line) {
    const auto peer = take_quoted(line);
    const bool to_switch = peer.starts_with("S-");
    if (switch_ < 0) {
      if (to_switch && !adapter_.empty()) hang(adapter_, id_of(peer));
    } else if (to_switch) {
      const int other = id_of(peer);
      if (other == switch_) return;
      fabric_.links[static_cast<std::size_t>(switch_)].insert(other);
      fabric_.links[static_cast<std::size_t>(other)].insert(switch_);
    } else {
      hang(take_quoted(line), switch_);
    }
  }

  void hang(std::string_view description, int on) {
    const auto host = host_of(description);
    if (!host.empty()) {
      fabric_.hosts[plain_name(host)].insert(on);
    } else if (!description.empty() && description.find("Aggregation Node") == description.npos) {
      fabric_.nameless.insert(plain_name(description));
    }
  }

  /// The GUID where a description does not tell a switch from others.
  void name_switches() {
    std::map<std::string, int> uses;
    for (const auto description : descriptions_) ++uses[short_name(description)];
    fabric_.names.resize(descriptions_.size());
    for (const auto& [guid, id] : ids_) {
      const auto i = static_cast<std::size_t>(id);
      auto name = short_name(descriptions_[i]);
      fabric_.names[i] = name.empty() || uses[name] > 1 ? plain_name(guid) : std::move(name);
    }
  }

  Fabric fabric_;
  std::unordered_map<std::string_view, int> ids_;
  std::vector<std::string_view> descriptions_;
  int switch_ = -1;
  std::string_view adapter_;
};

/// Hosts by the set of switches they hang on.
using Leaves = std::map<Ids, std::vector<std::string>>;

Leaves leaves_of(const Fabric& fabric) {
  Leaves leaves;
  for (const auto& [host, switches] : fabric.hosts)
    leaves[Ids(switches.begin(), switches.end())].push_back(host);
  constexpr std::size_t most_compared = 2000;
  if (leaves.size() > most_compared) return leaves;
  std::vector<std::pair<Ids, Ids>> joins;
  for (const auto& [part, hosts] : leaves) {
    const Ids* best = nullptr;
    for (const auto& [whole, others] : leaves) {
      if (whole.size() > part.size() && others.size() >= hosts.size() &&
          std::ranges::includes(whole, part) &&
          (best == nullptr || others.size() > leaves[*best].size()))
        best = &whole;
    }
    if (best != nullptr) joins.emplace_back(part, *best);
  }
  // Small sets first: what joins a set goes on with it if that joins another.
  std::ranges::stable_sort(joins, {}, [](const auto& join) { return join.first.size(); });
  for (const auto& [part, whole] : joins) {
    auto moved = leaves.extract(part);
    auto& hosts = leaves[whole];
    hosts.insert(hosts.end(), moved.mapped().begin(), moved.mapped().end());
  }
  return leaves;
}

std::string name_of(const Fabric& fabric, const Ids& switches) {
  std::vector<std::string> names;
  for (const int id : switches) names.push_back(fabric.names[static_cast<std::size_t>(id)]);
  return compress_host_set(std::move(names));
}

/// Units of a level, by the switches on their rim, to be joined by the switches one hop further.
struct Rim {
  std::string unit = {};
  Ids switches = {};
};

/// Those next to `switches` that no rim has reached yet.
Ids further(const Fabric& fabric, const Ids& switches, const std::vector<bool>& reached) {
  std::set<int> next;
  for (const int id : switches) {
    for (const int other : fabric.links[static_cast<std::size_t>(id)]) {
      if (!reached[static_cast<std::size_t>(other)]) next.insert(other);
    }
  }
  return {next.begin(), next.end()};
}

/// Rims that share a switch have the same number.
std::vector<std::size_t> joined(const std::vector<Rim>& rims) {
  std::vector<std::size_t> same(rims.size());
  std::iota(same.begin(), same.end(), 0U);
  const auto root = [&same](std::size_t i) {
    while (same[i] != i) i = same[i] = same[same[i]];
    return i;
  };
  std::unordered_map<int, std::size_t> first;
  for (std::size_t i = 0; i < rims.size(); ++i) {
    for (const int id : rims[i].switches) {
      const auto [found, is_new] = first.emplace(id, i);
      if (!is_new) same[root(i)] = root(found->second);
    }
  }
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = root(i);
  return same;
}

void add_levels(const Fabric& fabric, std::vector<Rim> rims, NetworkDraft& draft) {
  std::vector<bool> reached(fabric.names.size());
  while (rims.size() > 1) {
    for (const auto& rim : rims) {
      for (const int id : rim.switches) reached[static_cast<std::size_t>(id)] = true;
    }
    for (auto& rim : rims) rim.switches = further(fabric, rim.switches, reached);
    const auto group = joined(rims);
    std::map<std::size_t, std::pair<DescribedUnit, std::set<int>>> units;
    for (std::size_t i = 0; i < rims.size(); ++i) {
      auto& [unit, switches] = units[group[i]];
      unit.children.push_back(rims[i].unit);
      switches.insert(rims[i].switches.begin(), rims[i].switches.end());
    }
    std::vector<Rim> above;
    bool further_on = false;
    for (auto& [index, both] : units) {
      auto& [unit, switches] = both;
      Rim rim{.unit = unit.children.front(), .switches = {switches.begin(), switches.end()}};
      further_on = further_on || !rim.switches.empty();
      if (unit.children.size() > 1) {
        unit.name = rim.unit = name_of(fabric, rim.switches);
        draft.add(std::move(unit));
      }
      above.push_back(std::move(rim));
    }
    if (!further_on) return;
    rims = std::move(above);
  }
}

}  // namespace

bool is_ibnetdiscover(std::string_view text) {
  return std::ranges::any_of(split_lines(text), [](std::string_view line) {
    return (line.starts_with("Switch") && line.find("\"S-") != line.npos) ||
           (line.starts_with("Ca") && line.find("\"H-") != line.npos);
  });
}

Network read_ibnetdiscover(std::string_view text, std::string source) {
  const Fabric fabric = Reader().run(text);
  NetworkDraft draft({.kind = "fabric",
                      .source = std::move(source),
                      .levels = {"sets of leaf switches", "switches above"}});
  if (!fabric.nameless.empty())
    draft.network().warnings.push_back("adapters that name no host: " +
                                       some_of({fabric.nameless.begin(), fabric.nameless.end()}));
  std::vector<Rim> rims;
  for (auto& [switches, hosts] : leaves_of(fabric)) {
    const auto name = name_of(fabric, switches);
    draft.add(DescribedUnit{.name = name, .nodes = hosts});
    rims.push_back({.unit = name, .switches = switches});
  }
  add_levels(fabric, std::move(rims), draft);
  return std::move(draft).finished();
}

}  // namespace dllaunch
