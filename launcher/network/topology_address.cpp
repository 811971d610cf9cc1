#include "launcher/network/topology_address.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/network/network_draft.hpp"
#include "launcher/network/torus.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view address_key = "SLURM_TOPOLOGY_ADDR=";
constexpr std::string_view pattern_key = "SLURM_TOPOLOGY_ADDR_PATTERN=";
constexpr std::string_view torus_pattern = "torus:x:y:z.node";

/// The parts of an address; the last, the node, may have periods. Empty: there are too few.
std::vector<std::string> parts_of(std::string_view address, std::size_t count) {
  std::vector<std::string> parts;
  while (parts.size() + 1 < count) {
    const auto period = address.find('.');
    if (period == address.npos) return {};
    parts.push_back(plain_name(address.substr(0, period)));
    address.remove_prefix(period + 1);
  }
  parts.push_back(plain_name(address));
  return parts.back().empty() ? std::vector<std::string>() : parts;
}

bool read_torus(const TopologyAddress& given, std::vector<TorusNode>& nodes) {
  const auto parts = parts_of(given.address, 2);
  if (parts.empty()) return false;
  const auto place = split_at(parts[0], ':');
  if (place.size() != 4 || place[0].empty()) return false;
  int at[3] = {-1, -1, -1};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto text = place[i + 1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), at[i]);
    if (error != std::errc() || end != text.data() + text.size() || at[i] < 0 || at[i] > 65535)
      return false;
  }
  nodes.push_back(
      {.torus = std::string(place[0]), .x = at[0], .y = at[1], .z = at[2], .name = parts[1]});
  return true;
}

/// Units are as the address names them: "s[0-1]" is a unit of both switches.
class Chains {
 public:
  explicit Chains(NetworkDraft& draft) : draft_(draft) {}

  bool add(const TopologyAddress& given) {
    const auto count = split_at(given.pattern, '.').size();
    if (count < 2 || count > max_network_levels) return false;
    auto parts = parts_of(given.address, count);
    if (parts.empty()) return false;
    const auto node = std::move(parts.back());
    parts.pop_back();
    std::erase(parts, "");
    if (parts.empty()) return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto& unit = units_[parts[i]];
      if (i + 1 < parts.size()) {
        unit.first.insert(parts[i + 1]);
      } else {
        unit.second.push_back(node);
      }
    }
    return true;
  }

  void finish() {
    for (auto& [name, unit] : units_)
      draft_.add(DescribedUnit{.name = name,
                               .children = {unit.first.begin(), unit.first.end()},
                               .nodes = std::move(unit.second)});
  }

 private:
  NetworkDraft& draft_;
  std::map<std::string, std::pair<std::set<std::string>, std::vector<std::string>>> units_;
};

}  // namespace

Network network_of_addresses(const std::vector<TopologyAddress>& addresses, std::string source) {
  NetworkDraft draft(
      {.kind = "tree", .source = std::move(source), .levels = {"leaf switches", "switches above"}});
  Chains chains(draft);
  std::vector<TorusNode> torus;
  std::vector<std::string> odd;
  for (const auto& given : addresses) {
    if (given.pattern == "node") continue;  // no topology
    if (given.pattern == torus_pattern ? !read_torus(given, torus) : !chains.add(given))
      odd.push_back(plain_name(given.address));
    if (given.pattern.starts_with("block.")) {
      draft.network().kind = "block";
      draft.network().levels = {"blocks"};
    }
  }
  if (!odd.empty())
    draft.network().warnings.push_back("SLURM_TOPOLOGY_ADDR " + some_of(odd) +
                                       " does not fit its pattern");
  if (torus.empty()) {
    chains.finish();
  } else {
    draft.network().kind = "torus";
    add_toruses(std::move(torus), draft);
  }
  return std::move(draft).finished();
}

bool is_topology_addresses(std::string_view text) {
  return std::ranges::any_of(
      split_lines(text), [](std::string_view line) { return line.find(address_key) != line.npos; });
}

std::vector<TopologyAddress> parse_topology_addresses(std::string_view text) {
  std::vector<std::string_view> given;
  std::string pattern;
  for (auto line : split_lines(text)) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    const auto value = [line](std::string_view key) {
      return line.substr(line.find(key) + key.size());  // srun --label prefixes lines
    };
    if (line.find(pattern_key) != line.npos) {
      pattern = value(pattern_key);
    } else if (line.find(address_key) != line.npos && given.size() < max_hosts) {
      given.push_back(value(address_key));
    }
  }
  std::vector<TopologyAddress> addresses;
  for (const auto address : given) addresses.push_back({std::string(address), pattern});
  return addresses;
}

}  // namespace dllaunch
