// How the watchdogs of many nodes come to know all ranks' states: who asks whom, and who judges.
//
// While all goes well nobody sends anything. When a collective is late on a node, its speaker tells
// the lowest nodes before it, four times a second; each answers at once, so that a node without an
// answer for a second is known to be silent. The lowest node that is not silent judges: it asks all
// others four times a second until the collective ends. With 1000 nodes of 8 ranks that is 4000
// questions of 32 bytes and 4000 answers of 600 bytes a second at the one that judges, 4 at each
// other node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/watchdog/judgement.hpp"
#include "runtime/watchdog/message.hpp"

namespace dllaunch {

/// Pure: times come in, messages come out.
class RollCall {
 public:
  /// `nodes`: the ranks of each; `rank`: this one.
  RollCall(std::vector<std::vector<int>> nodes, int rank, std::int64_t stall_ns);

  /// What came in, and what to answer. `own`: the states of this rank's node.
  std::vector<WatchdogMessage> receive(const WatchdogMessage& message, std::int64_t now_ns,
                                       std::span<const RankState> own);
  /// What to send now. `speaker`: this rank speaks for its node.
  std::vector<WatchdogMessage> tick(std::int64_t now_ns, std::span<const RankState> own,
                                    bool speaker);

  /// Something is late, and this rank says what.
  bool is_judge() const { return judging_; }
  /// Something is late, here or elsewhere.
  bool is_active() const { return active_since_ns_ != 0; }
  /// Every node has answered lately, or is silent.
  bool is_complete(std::int64_t now_ns) const;
  /// All ranks, in order.
  std::vector<RankState> everyone(std::int64_t now_ns, std::span<const RankState> own) const;

  /// To whom to send something for that node: who was heard last, or some of its ranks.
  std::vector<int> contacts(int node, std::int64_t now_ns) const;
  int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }

 private:
  struct Node {
    std::vector<int> ranks;
    std::int64_t tried_since_ns = 0;  // 0: nothing was sent there since this began
    std::int64_t heard_ns = 0;        // 0: never
    int contact = -1;
    std::int64_t contact_heard_ns = 0;
  };

  bool is_silent(const Node& node, std::int64_t now_ns) const;
  void try_node(Node& node, std::int64_t now_ns) const;
  std::vector<WatchdogMessage> states_to(int rank, MessageKind kind,
                                         std::span<const RankState> own) const;
  std::vector<int> lower_nodes_to_tell(std::int64_t now_ns) const;

  std::vector<Node> nodes_;
  std::vector<int> node_of_;
  int rank_;
  std::int64_t stall_ns_;
  std::vector<RankState> states_;          // by rank, as last heard; empty: nothing was
  std::vector<std::int64_t> received_ns_;  // by rank; 0: never
  std::int64_t active_since_ns_ = 0;
  std::int64_t reported_until_ns_ = 0;  // others say that something is late
  std::int64_t asked_ns_ = 0;
  std::int64_t last_round_ns_ = 0;
  std::size_t round_ = 0;
  bool judging_ = false;
};

}  // namespace dllaunch
