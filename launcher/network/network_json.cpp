#include "launcher/network/network_json.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"
#include "topology/network/natural_order.hpp"

namespace dllaunch {

/// A unit with the nodes that hang on it.
struct StoredUnit {
  NetworkUnit unit = {};
  std::vector<std::string> nodes = {};
};

namespace {

auto as_hosts(std::vector<std::string>& hosts) {
  return as_text(
      hosts, [](const auto& all) { return compress_hosts(all); },
      [](const std::string& text) { return expand_hosts(text); });
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, StoredUnit& stored) {
  field.required("name", stored.unit.name);
  field("parent", stored.unit.parent);
  field("level", stored.unit.level);
  field.unless_empty("nodes", as_hosts(stored.nodes));
}

/// The rest of a network; `walk`: the nodes in the order of their places.
struct StoredNetwork {
  Network network = {};
  std::vector<StoredUnit> units = {};
  std::vector<std::string> walk = {};
};

template <typename Field>
void visit_fields(Field& field, StoredNetwork& stored) {
  field("kind", stored.network.kind);
  field("source", stored.network.source);
  field("levels", stored.network.levels);
  field("units", stored.units);
  field.unless_empty("walk", as_hosts(stored.walk));
  field.unless_empty("block_size", stored.network.block_size);
  field.unless_empty("warnings", stored.network.warnings);
}

Json to_json(const Network& network) {
  StoredNetwork stored;
  stored.network = network;
  for (const auto& unit : network.units) stored.units.push_back({unit, {}});
  for (const auto& [node, leaf] : network.leaf_of)
    stored.units[static_cast<std::size_t>(leaf)].nodes.push_back(node);
  for (auto& unit : stored.units) std::ranges::sort(unit.nodes, counts_before);
  for (const auto& [node, place] : network.walk) stored.walk.push_back(node);
  std::ranges::stable_sort(stored.walk, {},
                           [&](const std::string& node) { return network.walk.at(node); });
  return write_fields(stored);
}

std::string read_json(const Json& json, Network& network) {
  StoredNetwork stored;
  if (auto problem = read_fields(json, stored); !problem.empty()) return problem;
  auto& read = stored.network;
  for (std::size_t i = 0; i < stored.units.size(); ++i) {
    for (auto& node : stored.units[i].nodes) read.leaf_of[node] = static_cast<int>(i);
    read.units.push_back(std::move(stored.units[i].unit));
  }
  for (std::size_t i = 0; i < stored.walk.size(); ++i)
    read.walk[stored.walk[i]] = static_cast<int>(i);
  if (!is_sound(read)) return ": units and levels contradict each other";
  network = std::move(read);
  return "";
}

}  // namespace dllaunch
