#include "runtime/communicators/hierarchical/hierarchical.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicators/hierarchical/crowding.hpp"
#include "runtime/communicators/hierarchical/hierarchical_communicator.hpp"
#include "runtime/communicators/hierarchical/inter_node_tuning.hpp"
#include "runtime/communicators/hierarchical/node_memory.hpp"
#include "runtime/rank/measured.hpp"
#include "runtime/rank/node_leaves.hpp"
#include "support/fatal.hpp"
#include "support/random.hpp"
#include "topology/discovery/network_of_node.hpp"

namespace dllaunch {
namespace {

NodeMap map_nodes(const Peers& world, const Peers& node) {
  // A node is identified by its first rank.
  const std::array<std::int64_t, 1> here = {world.rank()};
  const std::int64_t first = node.gather_all(here).front();
  const std::array<std::int64_t, 3> mine = {first, node.rank(), node.size()};
  const auto all = world.gather_all(mine);
  using Words = std::array<std::int64_t, sizeof(UsableCpus) / sizeof(std::int64_t)>;
  const auto words = node.gather_all(std::bit_cast<Words>(usable_cpus()));
  std::vector<UsableCpus> ranks(static_cast<std::size_t>(node.size()));
  std::memcpy(static_cast<void*>(ranks.data()), words.data(), words.size() * sizeof words[0]);
  NodeMap map{.rank = world.rank(),
              .node = {},
              .local_index = {},
              .columns = node.size(),
              .crowded = is_crowded(ranks, static_cast<std::size_t>(node.rank()))};
  std::vector<std::int64_t> firsts;
  for (std::size_t i = 0; i < all.size(); i += 3) firsts.push_back(all[i]);
  std::ranges::sort(firsts);
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  for (std::size_t i = 0; i < all.size(); i += 3) {
    map.node.push_back(static_cast<int>(std::ranges::lower_bound(firsts, all[i]) - firsts.begin()));
    map.local_index.push_back(static_cast<int>(all[i + 1]));
    map.columns = std::min(map.columns, static_cast<int>(all[i + 2]));
  }
  return map;
}

/// Collective: returns an error on every rank if any rank has one.
std::optional<Error> agree(const Peers& world, std::optional<Error> error) {
  const std::array<std::int64_t, 1> failed = {error ? 1 : 0};
  for (const std::int64_t each : world.gather_all(failed)) {
    if (each == 0 || error) continue;
    error = Error{ErrorKind::unavailable, "ranks of another node cannot share memory", ""};
  }
  return error;
}

/// A step holds at least one element of every rank's block. Between nodes it is larger, so that
/// each part is worth a message: up to 1 MiB, while the ranks of a node together stay within
/// 32 MiB. Over TCP without a limit 1 MiB is at least as fast as other sizes; 2 MiB fills a slow
/// link's pipe later.
std::size_t staging_bytes_for(int ranks, int columns, int nodes) {
  constexpr std::size_t least = std::size_t{512} << 10;
  constexpr std::size_t most = std::size_t{1} << 20;
  constexpr std::size_t of_all = std::size_t{32} << 20;
  constexpr std::size_t largest_element = 8;
  constexpr std::size_t worth_a_message = std::size_t{16} << 10;
  std::size_t step = least;
  if (nodes > 1) {
    const auto per_node = static_cast<std::size_t>(columns);
    const std::size_t worth = per_node * static_cast<std::size_t>(nodes) * worth_a_message;
    step = std::clamp(std::max(worth, of_all / per_node), least, most);
  }
  return std::max(step, static_cast<std::size_t>(ranks) * largest_element);
}

ShareMemory share_over(std::shared_ptr<Peers> node) {
  return [node = std::move(node)](std::size_t bytes) {
    auto made = NodeMemory::make(*node, bytes);
    if (!made) die("shared memory", made.error().what);
    std::shared_ptr<NodeMemory> owner = *std::move(made);
    return SharedPieces{owner->pieces(), owner};
  };
}

/// Collective over `world`. Variables may have reached some ranks only: then there are no leaves.
std::vector<int> agreed_leaves(const Peers& world, int nodes) {
  auto leaves = node_leaves(process_environment(), nodes);
  const std::array<std::int64_t, 1> mine = {
      static_cast<std::int64_t>(stable_hash(to_text(leaves)))};
  const auto all = world.gather_all(mine);
  if (std::ranges::any_of(all, [&](auto hash) { return hash != all.front(); })) leaves.clear();
  return leaves;
}

/// Collective over `world`. Measured once for nodes of this kind, then read from the user's cache
/// by rank 0.
InterNodeLimits limits_of(const Peers& world, const NodeMap& map, const std::vector<int>& leaves,
                          InterNode* inter_node) {
  const int nodes = 1 + *std::ranges::max_element(map.node);
  const auto file = measured_file(process_environment(), "all-reduce-between-nodes");
  const std::string key =
      fmt::format("{}/{}/{}x{}/{}{}{}", cpu_model(), network_of_node(), nodes, map.size() / nodes,
                  world.transport(), leaves.empty() ? "" : "/", to_text(leaves));
  std::array<std::int64_t, 3> words = {};  // whole_bytes, by_leaf, known
  if (world.rank() == 0 && file) {
    const auto kept = recall(*file, key);
    const bool good = kept && kept->size() == (leaves.empty() ? 1 : 2) && kept->front() >= 0;
    if (good) words = {kept->front(), leaves.empty() ? 0 : kept->back(), 1};
  }
  const auto all = world.gather_all(words);
  InterNodeLimits limits;
  if (all[2] != 0) {
    limits.whole_bytes =
        std::min(static_cast<std::size_t>(all[0]), InterNodeLimits::most_whole_bytes);
    limits.by_leaf = all[1] == 1;
    return limits;
  }
  const auto measured = measure_limits(world, inter_node);
  limits = measured.value_or(limits);
  limits.by_leaf = !leaves.empty() && is_faster_by_leaf(world, inter_node);
  if (!measured) return limits;
  const std::array<std::int64_t, 2> found = {static_cast<std::int64_t>(limits.whole_bytes),
                                             limits.by_leaf ? 1 : 0};
  // If it cannot be stored, the next start measures again.
  if (world.rank() == 0 && file)
    static_cast<void>(keep(*file, key, std::span(found).first(leaves.empty() ? 1 : 2)));
  return limits;
}

/// Collective over `world`. Returns the limit for messages between nodes in bytes.
std::size_t message_limit(const Peers& world) {
  const std::array<std::int64_t, 1> mine = {static_cast<std::int64_t>(world.best_message_bytes())};
  return static_cast<std::size_t>(std::ranges::min(world.gather_all(mine)));
}

}  // namespace

Result<std::unique_ptr<Communicator>> open_hierarchical(std::unique_ptr<Peers> world) {
  return open_hierarchical_in_nodes_of(std::move(world), 0);
}

Result<std::unique_ptr<Communicator>> open_hierarchical_in_nodes_of(std::unique_ptr<Peers> world,
                                                                    int ranks_per_node) {
  std::shared_ptr<Peers> node = ranks_per_node == 0
                                    ? world->on_this_node()
                                    : world->split(world->rank() / ranks_per_node, world->rank());
  NodeMap map = map_nodes(*world, *node);
  // A trial piece shows whether memory can be shared, while there is an alternative.
  auto probe = NodeMemory::make(*node, 1);
  std::optional<Error> error;
  if (!probe) error = std::move(probe).error();
  if (auto agreed = agree(*world, std::move(error))) return *std::move(agreed);

  const int index = node->rank();
  const int my_node = map.node[static_cast<std::size_t>(map.rank)];
  const int nodes = 1 + *std::ranges::max_element(map.node);
  const auto leaves = agreed_leaves(*world, nodes);
  std::unique_ptr<InterNode> inter_node;
  auto peers = world->split(std::min(index, map.columns), my_node);
  if (nodes > 1) peers->limit_messages(message_limit(*world));
  if (index < map.columns && nodes > 1) {
    inter_node = std::make_unique<InterNode>(
        std::move(peers), InterNodeLimits{.by_leaf = ranks_per_node != 0},
        leaves.empty() ? std::nullopt : std::optional(NodeLeaves(leaves)));
  }
  if (ranks_per_node == 0 && nodes > 1 && nodes <= InterNodeLimits{}.most_nodes) {
    const InterNodeLimits limits = limits_of(*world, map, leaves, inter_node.get());
    if (inter_node) inter_node->set_limits(limits);
  }
  const std::size_t staging = staging_bytes_for(map.size(), map.columns, nodes);
  return std::unique_ptr<Communicator>(std::make_unique<HierarchicalCommunicator>(
      std::move(map), share_over(std::move(node)), std::move(inter_node), staging));
}

}  // namespace dllaunch
