#include "launcher/supervise/node_numbering.hpp"

#include <fmt/core.h>

#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/network/read_network.hpp"
#include "launcher/network/slurm_network.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/plan/start_command.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/supervise/node_order.hpp"
#include "runtime/rank/node_leaves.hpp"
#include "topology/network/network_order.hpp"

namespace dllaunch {

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
  if (!network_) network_ = slurm_network(system_);
  if (network_->units.empty() && !run_.network.is_null())
    if (auto described = read_network(Json{{"network", run_.network}}.dump(), "the profile"))
      network_ = *std::move(described);
  return network_->units.empty() ? nullptr : &*network_;
}

void NodeNumberer::say_once(const std::string& why) {
  if (!std::exchange(said_, true))
    system_.log(fmt::format("dllaunch: ranks are not numbered along the network: {}\n", why));
}

std::optional<JournalNodes> NodeNumberer::choose(const std::vector<std::string>& given) {
  if (run_.network_order == NodeNumbering::arrival)
    return JournalNodes{.order = compress_hosts(given)};
  const auto* const found = network();
  if (found == nullptr) return std::nullopt;
  if (const auto why = why_not_ordered(*found, given); !why.empty()) {
    say_once(why);
    return std::nullopt;
  }
  return number_along(*found, given, before_);
}

std::optional<JournalNodes> NodeNumberer::number(SupervisedRun& here) {
  // A run may start inside a rank of another.
  here.variables = {{node_order_variable, ""}, {node_leaves_variable, ""}};
  if (run_.network_order == NodeNumbering::slurm || run_.nodes < 2) return std::nullopt;
  const auto given = expand_hosts(here.allocation.nodes);
  // With more nodes than it needs, the starter chooses.
  if (!given || given->size() != run_.nodes) return std::nullopt;
  auto nodes = choose(*given);
  if (!nodes) return std::nullopt;
  const auto order = *expand_hosts(nodes->order);
  // Within an allocation, `given` need not be Slurm's order.
  const bool as_slurm =
      run_.network_order == NodeNumbering::automatic && order == *given && run_.start_name.empty();
  if (!as_slurm) {
    const auto file = run_.dir.path + "/rank_hosts";
    auto start = follow_order(here.start, file, order);
    if (start && !write_file(file, rank_hosts(order, run_.ranks_per_node)))
      start = Error{ErrorKind::unavailable, "cannot write " + file, ""};
    if (!start) {
      say_once(start.error().what);
      return std::nullopt;
    }
    here.start = *std::move(start);
  }
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
