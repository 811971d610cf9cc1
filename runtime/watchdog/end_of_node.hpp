// The end of a job that cannot go on, on one node: last words, TERM, KILL, exit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/watchdog/judgement.hpp"
#include "runtime/watchdog/node_watch.hpp"
#include "runtime/watchdog/roster.hpp"

namespace dllaunch {

enum class GiveUp : std::int64_t { no, stall, death };

/// Every watchdog of the node has one. It begins when the speaker has written a reason into all
/// records, and ends this process with fatal_exit_code.
class EndOfNode {
 public:
  EndOfNode(const Roster& roster, const NodeBoard& board, const NodeWatch& node)
      : roster_(roster), board_(board), node_(node) {}

  bool has_begun() const { return why_ != GiveUp::no; }
  /// Tells every watchdog of the node to begin. `words`: what this one says as it dies.
  void order(GiveUp why, std::string words);
  /// Begins when it was ordered, then goes on. Does not return at the end.
  void tick(std::int64_t now_ns);

 private:
  void begin(GiveUp why, std::int64_t now_ns);
  void dump() const;

  const Roster& roster_;
  const NodeBoard& board_;
  const NodeWatch& node_;
  std::string words_;  // empty: another rank has them
  GiveUp why_ = GiveUp::no;
  std::int64_t leave_ns_ = 0;
};

}  // namespace dllaunch
