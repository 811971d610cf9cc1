// What a watchdog sees of its own node: shared records, processes that end, stacks.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/watchdog/judgement.hpp"
#include "runtime/watchdog/roster.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// How a process ended, as waitpid() words it; nothing where the kernel does not say (before
/// Linux 6.15), or it has not ended.
std::optional<int> end_of_process(int pidfd);

class NodeWatch {
 public:
  /// Both outlive this.
  NodeWatch(const Roster& roster, const NodeBoard& board);

  /// To poll(): one of them is readable when a process of the node has ended.
  std::vector<pollfd> to_poll() const;
  /// Looks which have ended.
  void notice_ends();

  /// Ages of waits and phases are counted from then on.
  void forget_before(std::int64_t now_ns) { counted_from_ns_ = now_ns; }

  std::vector<RankState> states(std::int64_t now_ns) const;
  /// The lowest rank of the node whose watchdog runs.
  bool is_speaker(std::int64_t now_ns) const;

  /// "died of SIGKILL", "ended with exit code 3"; empty: it die()d and has said why, or lives.
  std::string end_of(int rank) const;
  bool somebody_told_death() const;

  /// Asks what the rank's training thread does; told() has the answer then or later.
  void ask(int rank, std::int64_t now_ns);
  std::optional<std::string> told(int rank, std::int64_t now_ns) const;
  /// What the kernel says of a rank whose watchdog does not run; nothing of others.
  std::optional<std::string> seen_from_outside(int rank, std::int64_t now_ns) const;
  /// Answers for this rank, if it was asked. May take a fifth of a second.
  void answer_for_self() const;

  /// To the process, never to another with its number. Not to the dead, nor to this process.
  void signal(int rank, int number) const;

 private:
  std::size_t place(int rank) const;
  std::string look_at(int rank) const;
  RankState state_of(std::size_t place, std::int64_t now_ns) const;

  struct Question {
    std::uint64_t number = 0;
    std::int64_t deadline_ns = 0;
  };

  const Roster& roster_;
  const NodeBoard& board_;
  std::vector<FileDescriptor> processes_;  // pidfds in the order of neighbours(); of others only
  std::vector<bool> ended_;                // whatever they said before
  std::vector<bool> dead_;
  std::vector<Question> questions_;
  std::int64_t counted_from_ns_ = 0;
};

}  // namespace dllaunch
