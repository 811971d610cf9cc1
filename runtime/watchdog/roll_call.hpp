// How the watchdogs of many nodes collect all ranks' states: which node asks which, and which
// judges.
//
// While all goes well nothing is sent. When a collective is late on a node, its speaker reports to
// the lowest nodes before it, four times a second. Each replies at once, so a node that does not
// reply for a second counts as silent. The lowest node that is not silent judges: it asks all
// others four times a second until the collective ends. With 1000 nodes of 8 ranks that is 4000
// questions of 32 bytes and 4000 answers of 800 bytes a second at the judge, 4 at each other node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/watchdog/judgement.hpp"
#include "runtime/watchdog/message.hpp"

namespace dllaunch {

/// Pure: takes times and messages, returns messages.
class RollCall {
 public:
  /// `nodes`: the ranks of each; `rank`: this one.
  RollCall(std::vector<std::vector<int>> nodes, int rank, std::int64_t stall_ns);

  /// Handles a message and returns the replies. `own`: the states of this rank's node.
  std::vector<WatchdogMessage> receive(const WatchdogMessage& message, std::int64_t now_ns,
                                       std::span<const RankState> own);
  /// Returns the messages to send now. `speaker`: this rank speaks for its node.
  std::vector<WatchdogMessage> tick(std::int64_t now_ns, std::span<const RankState> own,
                                    bool speaker);

  /// Something is late, and this rank reports it.
  bool is_judge() const { return judging_; }
  /// Something is late, here or elsewhere.
  bool is_active() const { return active_since_ns_ != 0; }
  /// Every node has answered recently, or is silent.
  bool is_complete(std::int64_t now_ns) const;
  /// The states of all ranks, in order.
  std::vector<RankState> everyone(std::int64_t now_ns, std::span<const RankState> own) const;

  /// The ranks to contact on that node: the last one heard from, or some of its ranks.
  std::vector<int> contacts(int node, std::int64_t now_ns) const;
  int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }

 private:
  struct Node {
    std::vector<int> ranks;
    std::int64_t tried_since_ns = 0;  // 0: nothing sent there since the alarm began
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
  std::vector<RankState> states_;          // by rank, as last received; empty: none yet
  std::vector<std::int64_t> received_ns_;  // by rank; 0: never
  std::int64_t active_since_ns_ = 0;
  std::int64_t reported_until_ns_ = 0;  // until then, other nodes report that something is late
  std::int64_t asked_ns_ = 0;
  std::int64_t last_round_ns_ = 0;
  std::size_t round_ = 0;
  bool judging_ = false;
};

}  // namespace dllaunch
