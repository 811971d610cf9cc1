#include "launcher/supervise/node_numbering.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/network/slurm_network.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/plan/start_command.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/supervise/node_order.hpp"
#include "runtime/rank/node_leaves.hpp"
#include "topology/network/natural_order.hpp"
#include "topology/network/network_order.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t longest_variable = 100'000;  // the kernel takes 128 KiB

/// A new node takes the place of a lost one, or the last; without new ones the others move up.
std::vector<std::string> with_replaced(std::vector<std::string> before,
                                       const std::vector<std::string>& now) {
  const auto has = [](const auto& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const auto& node : now) {
    if (has(before, node)) continue;
    const auto lost =
        std::ranges::find_if(before, [&](const auto& name) { return !has(now, name); });
    if (lost == before.end())
      before.push_back(node);
    else
      *lost = node;
  }
  std::erase_if(before, [&](const auto& name) { return !has(now, name); });
  return before;
}

}  // namespace

void NodeNumberer::remember(const Journal& journal) {
  // In another allocation rank 0 belongs on the node of the job's script again.
  const auto& last = journal.nodes;
  if (!last || last->job != run_.job() || last->allocation != run_.allocation.restarts) return;
  if (auto order = expand_hosts(last->order)) before_ = *std::move(order);
}

const Network* NodeNumberer::network() {
  const bool wanted = run_.network_order == NodeNumbering::automatic && run_.nodes > 1 &&
                      !run_.allocation.job.empty();
  if (!wanted) return nullptr;
  if (!network_) {
    network_ = job_network(system_, run_.network);
    for (const auto& warning : network_->warnings)
      system_.log(fmt::format("dllaunch: {}: {}\n", network_->source, warning));
  }
  return network_->units.empty() ? nullptr : &*network_;
}

void NodeNumberer::say_once(const std::string& why) {
  if (!std::exchange(said_, true))
    system_.log(fmt::format("dllaunch: ranks are not numbered along the network: {}\n", why));
}

std::optional<JournalNodes> NodeNumberer::choose(const std::vector<std::string>& given) {
  if (run_.network_order == NodeNumbering::arrival)
    return JournalNodes{.order = compress_hosts(with_replaced(before_, given))};
  const auto* const found = network();
  if (found == nullptr) return std::nullopt;
  if (const auto why = why_not_ordered(*found, given); !why.empty()) {
    say_once(why);
    return std::nullopt;
  }
  auto nodes = number_along(*found, given, before_);
  if (run_.start_name.empty()) return nodes;
  // Within an allocation, `given` is in dllaunch's own order.
  auto of_slurm = given;
  std::ranges::sort(of_slurm, counts_before);
  nodes.levels = level_crossings(*found, of_slurm, *expand_hosts(nodes.order));
  return nodes;
}

std::optional<JournalNodes> NodeNumberer::number(SupervisedRun& here) {
  // A run may start inside a rank of another.
  here.variables = {{node_order_variable, ""}, {node_leaves_variable, ""}};
  if (run_.network_order == NodeNumbering::slurm || here.nodes < 2) return std::nullopt;
  const auto given = expand_hosts(here.allocation.nodes);
  // With more nodes than it needs, the starter chooses.
  if (!given || given->size() != here.nodes) return std::nullopt;
  auto nodes = choose(*given);
  if (!nodes) return std::nullopt;
  const auto order = *expand_hosts(nodes->order);
  const auto file = run_.dir.path + "/rank-hosts";
  auto start = follow_order(here.start, file, order);
  // What sbatch was told about the ranks of its steps; srun reads it.
  if (const auto theirs = system_.environment("SLURM_DISTRIBUTION"); start && theirs)
    start = Error{ErrorKind::unsatisfiable, "the job's --distribution is " + *theirs, ""};
  if (start && nodes->order.size() > longest_variable)
    start =
        Error{ErrorKind::unsatisfiable, "the names of the nodes are too long for a variable", ""};
  // Within an allocation, `given` need not be Slurm's order.
  const bool as_slurm =
      run_.network_order == NodeNumbering::automatic && order == *given && run_.start_name.empty();
  if (start && !as_slurm && !write_file(file, rank_hosts(order, run_.ranks_per_node)))
    start = Error{ErrorKind::unavailable, "cannot write " + file, ""};
  if (!start) {
    const auto& hint = start.error().hint;
    say_once(start.error().what + (hint.empty() ? "" : "; " + hint));
    return std::nullopt;
  }
  if (!as_slurm) here.start = *std::move(start);
  const auto* const known = network();
  here.variables = {
      {node_order_variable, nodes->order},
      {node_leaves_variable, known == nullptr ? "" : to_text(leaf_sizes(*known, order))}};
  before_ = order;
  nodes->time = unix_seconds();
  nodes->job = run_.job();
  nodes->allocation = run_.allocation.restarts;
  return nodes;
}

}  // namespace dllaunch
