// Ends a job on one node: final messages, SIGTERM, SIGKILL, exit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/watchdog/judgement.hpp"
#include "runtime/watchdog/node_watch.hpp"
#include "runtime/watchdog/roster.hpp"

namespace dllaunch {

enum class GiveUp : std::int64_t { no, stall, death };

/// Every watchdog of the node has one. It begins once the speaker has written a reason into all
/// records, and ends this process with fatal_exit_code.
class EndOfNode {
 public:
  EndOfNode(const Roster& roster, const NodeBoard& board, const NodeWatch& node)
      : roster_(roster), board_(board), node_(node) {}

  bool has_begun() const { return why_ != GiveUp::no; }
  /// Makes every watchdog of the node begin. `message` is printed as this process dies.
  void order(GiveUp why, std::string message);
  /// Begins once ordered, then continues. Does not return at the end.
  void tick(std::int64_t now_ns);

 private:
  void begin(GiveUp why, std::int64_t now_ns);
  void dump() const;

  const Roster& roster_;
  const NodeBoard& board_;
  const NodeWatch& node_;
  std::string message_;  // empty: another rank prints the message
  GiveUp why_ = GiveUp::no;
  std::int64_t leave_ns_ = 0;
};

}  // namespace dllaunch
