#include "launcher/network/topology_yaml.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "launcher/network/blocks.hpp"
#include "launcher/network/network_draft.hpp"
#include "launcher/network/torus.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

const YamlNode nothing;

const YamlNode& child(const YamlNode& node, std::string_view key) {
  const auto found = std::ranges::find(node.entries, key, &YamlEntry::key);
  return found == node.entries.end() ? nothing : *found->value;
}

int number(const YamlNode& node) {
  int value = 0;
  std::from_chars(node.text.data(), node.text.data() + node.text.size(), value);
  return value;
}

void read_tree(const YamlNode& tree, NetworkDraft& draft) {
  draft.network().kind = "tree";
  draft.network().levels = {"leaf switches", "switches above"};
  for (const auto& item : child(tree, "switches").items)
    draft.add(child(*item, "switch").text, child(*item, "children").text,
              child(*item, "nodes").text);
}

void read_blocks_of(const YamlNode& block, NetworkDraft& draft) {
  Blocks blocks;
  for (const auto& item : child(block, "blocks").items)
    blocks.base.push_back({child(*item, "block").text, child(*item, "nodes").text});
  for (const auto& size : child(block, "block_sizes").items) blocks.sizes.push_back(number(*size));
  add_blocks(blocks, draft);
}

void read_rings_of(const YamlNode& ring, NetworkDraft& draft) {
  for (const auto& item : child(ring, "rings").items)
    add_ring(child(*item, "ring").text, child(*item, "nodes").text, draft);
}

struct Box {
  int x = 0;
  int y = 0;
  int z = 0;

  bool is_as_large_as(std::size_t count) const {
    const auto side = [](int size) {
      return static_cast<std::size_t>(std::clamp(size, 0, static_cast<int>(max_hosts)));
    };
    return side(x) * side(y) <= max_hosts && side(x) * side(y) * side(z) == count;
  }
};

Box box(const YamlNode& node) {
  const auto side = [&node](std::string_view key) {
    return std::clamp(number(child(node, key)), 0, 65535);  // 16 bits in Slurm
  };
  return {side("x"), side("y"), side("z")};
}

void read_toruses_of(const YamlNode& tori, NetworkDraft& draft) {
  draft.network().kind = "torus";
  std::vector<TorusNode> nodes;
  for (const auto& item : child(tori, "toruses").items) {
    const auto name = plain_name(child(*item, "name").text);
    const auto fill = [&](const Box& from, const Box& size, const std::string& hosts) {
      auto names = draft.expanded(name, hosts);
      if (!size.is_as_large_as(names.size())) {
        draft.network().warnings.push_back(name + ": its nodes are not as many as its dims");
        return;
      }
      for (std::size_t i = 0; i < names.size(); ++i) {
        const auto at = static_cast<int>(i);
        nodes.push_back({.torus = name,
                         .x = from.x + at % size.x,
                         .y = from.y + at / size.x % size.y,
                         .z = from.z + at / size.x / size.y,
                         .name = std::move(names[i])});
      }
    };
    const auto& regions = child(*item, "regions");
    if (regions.items.empty()) fill({}, box(child(*item, "dims")), child(*item, "nodes").text);
    for (const auto& region : regions.items)
      fill(box(child(*region, "anchor")), box(child(*region, "dims")),
           child(*region, "nodes").text);
  }
  add_toruses(std::move(nodes), draft);
}

const YamlNode* chosen(const YamlNode& root, const std::string& wanted) {
  const YamlNode* first = nullptr;
  for (const auto& item : root.items) {
    const auto& is_default = child(*item, "cluster_default").text;
    if (wanted.empty() ? is_default == "true" || is_default == "True"
                       : child(*item, "topology").text == wanted)
      return item.get();
    if (first == nullptr) first = item.get();
  }
  return wanted.empty() ? first : nullptr;
}

}  // namespace

bool is_topology_yaml(const YamlNode& root) {
  return root.kind == YamlKind::sequence && !root.items.empty() &&
         child(*root.items.front(), "topology").kind == YamlKind::scalar;
}

Network read_topology_yaml(const YamlNode& root, const std::string& source,
                           const std::string& wanted) {
  const YamlNode* topology = chosen(root, wanted);
  if (topology == nullptr)
    return {.source = source, .warnings = {"it has no topology '" + plain_name(wanted) + "'"}};
  NetworkDraft draft({.source = source + ", " + plain_name(child(*topology, "topology").text)});
  const auto has = [topology](std::string_view key) {
    return child(*topology, key).kind == YamlKind::mapping;
  };
  if (has("block")) {
    read_blocks_of(child(*topology, "block"), draft);
  } else if (has("tree")) {
    read_tree(child(*topology, "tree"), draft);
  } else if (has("ring")) {
    read_rings_of(child(*topology, "ring"), draft);
  } else if (has("torus3d")) {
    read_toruses_of(child(*topology, "torus3d"), draft);
  } else {
    return std::move(draft.network());  // flat
  }
  return std::move(draft).finished();
}

}  // namespace dllaunch
