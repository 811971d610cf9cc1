#include "launcher/supervise/node_order.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/placing_option.hpp"
#include "runtime/rank/node_leaves.hpp"
#include "topology/network/network_order.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

/// Options of mpirun that choose nodes.
constexpr std::array<std::string_view, 6> mpirun_choices = {"--hostfile", "--machinefile", "--host",
                                                            "-H",         "--rankfile",    "-rf"};

bool is_option(std::string_view word, std::string_view option) {
  return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
}

/// Whether the option names just these nodes, as a supervisor or a run in an allocation writes it.
bool lists(std::string_view word, const Names& nodes) {
  constexpr std::string_view option = "--nodelist=";
  if (!word.starts_with(option)) return false;
  const auto listed = expand_hosts(word.substr(option.size()));
  return listed && std::set<std::string>(listed->begin(), listed->end()) ==
                       std::set<std::string>(nodes.begin(), nodes.end());
}

Error chosen(const std::string& word) {
  return {ErrorKind::unsatisfiable,
          fmt::format("{} among the starter's options: ranks stay in its order", word),
          "leave it out, or set binding.network_order: slurm"};
}

int leaf_of(const Network& network, const std::string& node) {
  const auto found = network.leaf_of.find(node);
  return found == network.leaf_of.end() ? -1 : found->second;
}

}  // namespace

Names nearest_nodes(const Network* network, const Names& fit, std::size_t needed,
                    const Names& before) {
  if (fit.size() <= needed) return fit;
  if (network == nullptr) return {fit.begin(), fit.begin() + static_cast<std::ptrdiff_t>(needed)};
  const auto stays = [&](const std::string& node) {
    return before.empty() ? node == fit.front() : std::ranges::find(before, node) != before.end();
  };
  using Near = std::pair<int, int>;  // of a leaf: nodes that stay, all fit nodes
  std::map<int, Near> leaves;
  for (const auto& node : fit) {
    auto& [staying, all] = leaves[leaf_of(*network, node)];
    staying += stays(node) ? 1 : 0;
    ++all;
  }
  Names chosen = fit;
  // Leaf by leaf, also where two are as near.
  const auto rank = [&](const std::string& node) {
    const int leaf = leaf_of(*network, node);
    return std::tuple(stays(node), leaves.at(leaf), -leaf);
  };
  std::ranges::stable_sort(chosen, std::greater(), rank);
  chosen.resize(needed);
  const std::set<std::string> names(chosen.begin(), chosen.end());
  Names in_order;
  std::ranges::copy_if(fit, std::back_inserter(in_order),
                       [&](const std::string& node) { return names.contains(node); });
  return in_order;
}

JournalNodes number_along(const Network& network, const Names& given, const Names& before) {
  JournalNodes nodes;
  if (given.empty() || !why_not_ordered(network, given).empty()) return nodes;
  const auto order = network_order(network, given, before.empty() ? Names{given.front()} : before);
  nodes.order = compress_hosts(order);
  nodes.network = network.source;
  nodes.levels = level_crossings(network, given, order);
  return nodes;
}

std::vector<int> leaf_sizes(const Network& network, const Names& order) {
  std::vector<int> sizes;
  int last = -1;
  for (const auto& node : order) {
    const int leaf = leaf_of(network, node);
    if (leaf < 0) return {};
    if (leaf != last) sizes.push_back(0);
    ++sizes.back();
    last = leaf;
  }
  return sizes;
}

std::string rank_hosts(const Names& order, int ranks_per_node) {
  std::string lines;
  for (const auto& node : order)
    for (int rank = 0; rank < ranks_per_node; ++rank) lines += node + "\n";
  return lines;
}

Result<StartCommand> follow_order(StartCommand start, const std::string& file, const Names& order) {
  auto& options = start.options;
  const bool by_srun = start.starts_by_srun();
  if (!by_srun && start.kind() != Starter::mpirun)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("{} cannot be told an order of nodes", start.starter), ""};
  // srun of 24.11 refuses --nodes beside the order, which says it too.
  const auto nodes = fmt::format("--nodes={}", order.size());
  std::erase_if(options,
                [&](const auto& word) { return by_srun && (word == nodes || lists(word, order)); });
  const auto of_mpirun = std::ranges::find_if(options, [](const auto& word) {
    return std::ranges::any_of(mpirun_choices,
                               [&](auto choice) { return is_option(word, choice); });
  });
  if (by_srun) {
    if (const auto theirs = placing_option(options, /*nodes=*/0); !theirs.empty())
      return chosen(theirs);
  } else if (of_mpirun != options.end()) {
    return chosen(*of_mpirun);
  }
  if (by_srun) {
    options.insert(options.begin(), {"--distribution=arbitrary", "--nodelist=" + file});
    return start;
  }
  const auto map_by = std::ranges::find(options, "--map-by");
  if (map_by == options.end() || map_by + 1 == options.end())
    return Error{ErrorKind::unsatisfiable, "mpirun has no --map-by here", ""};
  *(map_by + 1) = "seq";
  options.insert(map_by,
                 {"--hostfile", file, "-x", node_order_variable, "-x", node_leaves_variable});
  return start;
}

}  // namespace dllaunch
