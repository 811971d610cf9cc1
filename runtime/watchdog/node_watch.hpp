// What a watchdog observes on its own node: shared records, exited processes, stacks.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/watchdog/judgement.hpp"
#include "runtime/watchdog/roster.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// Returns how a process ended, as waitpid() encodes it; nullopt if the kernel does not report it
/// (before Linux 6.15), or if it runs.
std::optional<int> end_of_process(int pidfd);

class NodeWatch {
 public:
  /// Both must outlive this object.
  NodeWatch(const Roster& roster, const NodeBoard& board);

  /// For poll(): one is readable when a process of the node has exited.
  std::vector<pollfd> to_poll() const;
  /// Checks which processes have exited.
  void notice_ends();

  /// Ages of waits and phases do not count this time.
  void add_pause(std::int64_t from_ns, std::int64_t to_ns);

  std::vector<RankState> states(std::int64_t now_ns) const;
  /// The speaker is the lowest rank of the node whose watchdog runs.
  bool is_speaker(std::int64_t now_ns) const;

  bool has_death() const;
  /// "died of SIGKILL", "ended with exit code 3"; empty if it called die(), which reports by
  /// itself, or is alive.
  std::string end_of(int rank) const;
  bool death_was_reported() const;

  /// Asks what the rank's training thread does; told() returns the answer, perhaps later.
  void ask(int rank, std::int64_t now_ns);
  std::optional<std::string> told(int rank, std::int64_t now_ns) const;
  /// Returns the kernel's view of a rank whose watchdog does not run; nullopt for others.
  std::optional<std::string> seen_from_outside(int rank, std::int64_t now_ns) const;
  /// Answers a question to this rank, if there is one. May take 0.2 s.
  void answer_for_self() const;

  /// Signals exactly that process, never one that reuses its id. Ignores dead ones and this
  /// process.
  void signal(int rank, int number) const;

 private:
  std::size_t place(int rank) const;
  std::int64_t counted_age(std::int64_t since_ns, std::int64_t now_ns) const;
  std::string look_at(int rank) const;
  RankState state_of(std::size_t place, std::int64_t now_ns) const;

  struct Question {
    std::uint64_t number = 0;
    std::int64_t deadline_ns = 0;
  };

  const Roster& roster_;
  const NodeBoard& board_;
  std::vector<FileDescriptor> processes_;  // pidfds of other ranks, in the order of neighbours()
  std::vector<bool> ended_;                // has exited; its record no longer counts
  std::vector<bool> dead_;
  std::vector<Question> questions_;
  std::deque<std::pair<std::int64_t, std::int64_t>> pauses_;  // the latest, from when to when
};

}  // namespace dllaunch
