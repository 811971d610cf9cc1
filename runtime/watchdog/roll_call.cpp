#include "runtime/watchdog/roll_call.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace dllaunch {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t round_ns = 250 * ms;
constexpr std::int64_t silent_ns = 1000 * ms;
constexpr std::int64_t fresh_ns = 1500 * ms;
constexpr std::int64_t asked_lately_ns = 600 * ms;
constexpr std::size_t told_nodes = 3;

}  // namespace

RollCall::RollCall(std::vector<std::vector<int>> nodes, int rank, std::int64_t stall_ns)
    : rank_(rank), stall_ns_(stall_ns) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (const int each : nodes[node]) {
      const auto at = static_cast<std::size_t>(each);
      if (node_of_.size() <= at) node_of_.resize(at + 1);
      node_of_[at] = static_cast<int>(node);
    }
    nodes_.push_back({.ranks = std::move(nodes[node])});
  }
}

bool RollCall::is_silent(const Node& node, std::int64_t now_ns) const {
  return node.tried_since_ns != 0 && now_ns - node.tried_since_ns > silent_ns &&
         (node.heard_ns == 0 || now_ns - node.heard_ns > silent_ns);
}

void RollCall::try_node(Node& node, std::int64_t now_ns) const {
  if (node.tried_since_ns == 0) node.tried_since_ns = now_ns;
}

std::vector<int> RollCall::contacts(int node, std::int64_t now_ns) const {
  const Node& to = nodes_[static_cast<std::size_t>(node)];
  if (to.contact_heard_ns != 0 && now_ns - to.contact_heard_ns <= silent_ns) return {to.contact};
  // Which of its ranks are alive is unknown: ask some of them, different ones each time; all of
  // them in small jobs.
  const std::size_t most = std::clamp<std::size_t>(2048 / nodes_.size(), 2, 16);
  const std::size_t count = std::min(most, to.ranks.size());
  std::vector<int> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(to.ranks[(round_ * count + i) % to.ranks.size()]);
  }
  return chosen;
}

std::vector<WatchdogMessage> RollCall::states_to(int rank, MessageKind kind,
                                                 std::span<const RankState> own) const {
  std::vector<WatchdogMessage> pieces;
  for (std::size_t at = 0; at < own.size(); at += WatchdogMessage::most_states) {
    const auto piece = own.subspan(at, std::min(WatchdogMessage::most_states, own.size() - at));
    pieces.push_back(
        {.kind = kind, .from = rank_, .to = rank, .states = {piece.begin(), piece.end()}});
  }
  return pieces;
}

std::vector<WatchdogMessage> RollCall::receive(const WatchdogMessage& message, std::int64_t now_ns,
                                               std::span<const RankState> own) {
  const int sender = node_of(message.from);
  if (sender == node_of(rank_) || message.to != rank_) return {};
  Node& node = nodes_[static_cast<std::size_t>(sender)];
  node.heard_ns = now_ns;
  // Prefer the speaker, if known: other ranks that are asked need not report.
  const bool contact_is_well =
      node.contact_heard_ns != 0 && now_ns - node.contact_heard_ns <= silent_ns;
  if (message.kind == MessageKind::report || !contact_is_well) node.contact = message.from;
  if (message.from == node.contact) node.contact_heard_ns = now_ns;
  if (!message.states.empty() && states_.empty()) {
    states_.resize(node_of_.size());
    received_ns_.resize(node_of_.size());
  }
  for (const RankState& state : message.states) {
    if (node_of(state.rank) != sender) continue;
    const auto at = static_cast<std::size_t>(state.rank);
    states_[at] = state;
    states_[at].node = sender;
    received_ns_[at] = now_ns;
  }
  if (is_suspicious(message.states, stall_ns_)) reported_until_ns_ = now_ns + silent_ns;
  if (message.kind == MessageKind::report) {
    return {{.kind = MessageKind::heard, .from = rank_, .to = message.from}};
  }
  if (message.kind != MessageKind::ask) return {};
  if (sender < node_of(rank_)) asked_ns_ = now_ns;
  return states_to(message.from, MessageKind::answer, own);
}

std::vector<int> RollCall::lower_nodes_to_tell(std::int64_t now_ns) const {
  std::vector<int> lower;
  for (int node = 0; node < node_of(rank_) && lower.size() < told_nodes; ++node) {
    if (!is_silent(nodes_[static_cast<std::size_t>(node)], now_ns)) lower.push_back(node);
  }
  return lower;
}

std::vector<WatchdogMessage> RollCall::tick(std::int64_t now_ns, std::span<const RankState> own,
                                            bool speaker) {
  const bool late = is_suspicious(own, stall_ns_) || now_ns < reported_until_ns_;
  if (!speaker || !late) {
    active_since_ns_ = 0;
    judging_ = false;
    for (Node& node : nodes_) node.tried_since_ns = 0;
    return {};
  }
  if (active_since_ns_ == 0) {
    active_since_ns_ = now_ns;
    last_round_ns_ = 0;
  }
  const auto lower = lower_nodes_to_tell(now_ns);
  judging_ = lower.empty();
  if (now_ns - last_round_ns_ < round_ns) return {};
  last_round_ns_ = now_ns;
  ++round_;
  std::vector<WatchdogMessage> messages;
  if (judging_) {
    for (int node = 0; node < std::ssize(nodes_); ++node) {
      if (node == node_of(rank_)) continue;
      try_node(nodes_[static_cast<std::size_t>(node)], now_ns);
      for (const int to : contacts(node, now_ns)) {
        messages.push_back({.kind = MessageKind::ask, .from = rank_, .to = to});
      }
    }
    return messages;
  }
  if (asked_ns_ != 0 && now_ns - asked_ns_ < asked_lately_ns) return {};
  for (const int node : lower) {
    try_node(nodes_[static_cast<std::size_t>(node)], now_ns);
    for (const int to : contacts(node, now_ns)) {
      auto pieces = states_to(to, MessageKind::report, own);
      std::ranges::move(pieces, std::back_inserter(messages));
    }
  }
  return messages;
}

bool RollCall::is_complete(std::int64_t now_ns) const {
  for (int node = 0; node < std::ssize(nodes_); ++node) {
    const Node& other = nodes_[static_cast<std::size_t>(node)];
    if (node == node_of(rank_) || is_silent(other, now_ns)) continue;
    const bool all_known = std::ranges::all_of(other.ranks, [&](int rank) {
      const std::int64_t received =
          received_ns_.empty() ? 0 : received_ns_[static_cast<std::size_t>(rank)];
      return received >= active_since_ns_ && now_ns - received <= fresh_ns;
    });
    if (!all_known) return false;
  }
  return true;
}

std::vector<RankState> RollCall::everyone(std::int64_t now_ns,
                                          std::span<const RankState> own) const {
  std::vector<RankState> all = states_;
  all.resize(node_of_.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    RankState& state = all[rank];
    state.rank = static_cast<int>(rank);
    state.node = node_of_[rank];
    state.silent = is_silent(nodes_[static_cast<std::size_t>(state.node)], now_ns);
    if (state.silent) state.waiting_for = 0;  // unknown, as long as its node is silent
    if (received_ns_.empty() || received_ns_[rank] == 0) continue;
    state.phase_age_ns += now_ns - received_ns_[rank];
    state.waiting_age_ns += now_ns - received_ns_[rank];
  }
  for (const RankState& state : own) all[static_cast<std::size_t>(state.rank)] = state;
  return all;
}

}  // namespace dllaunch
