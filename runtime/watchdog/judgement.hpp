// Decides which ranks are late: a pure function of all ranks' states.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/activity/activity.hpp"

namespace dllaunch {

/// A rank's state at one moment. Ages instead of times, since hosts' clocks differ.
struct RankState {
  int rank = 0;
  int node = 0;
  int group = 0;                      // whose collectives it takes part in, beside all ranks'
  bool dead = false;                  // its process has exited without leaving properly
  bool left = false;                  // it has finished
  bool silent = false;                // its whole node does not answer
  std::int64_t heartbeat_age_ns = 0;  // of its watchdog
  std::int64_t step = 0;
  RankPhase phase = RankPhase::start;
  std::int64_t phase_age_ns = 0;
  // Of each scope's collectives.
  std::array<std::uint64_t, collective_scopes> begun = {};
  std::array<std::uint64_t, collective_scopes> ended = {};
  std::uint64_t waiting_for = 0;  // as in Beacon
  int waiting_rank = -1;          // >= 0: for a message of that rank
  CollectiveScope scope = CollectiveScope::world;
  std::int64_t waiting_age_ns = 0;
  CollectiveKind kind = CollectiveKind::barrier;
  std::uint64_t bytes = 0;
};

/// A watchdog with an older heartbeat was stopped with its process, or is starved.
constexpr std::int64_t stale_heartbeat_ns = 1'000'000'000;

bool is_answering(const RankState& state);

enum class WhyLate {
  died,
  silent,        // its whole node is
  unresponsive,  // stopped or starved, wherever it is
  left,          // finished its training without this collective
  not_arrived,
  not_attending,  // has begun it but does something else; it may need this rank to make progress
  busy,           // a rank waits for its message, and it does something else
  no_batch,       // waits for data, as all do
};

struct LateRank {
  int rank = 0;
  WhyLate why = WhyLate::not_arrived;
  int holds_up = -1;  // a rank that waits for it, if that is another wait than the verdict's
  bool operator==(const LateRank&) const = default;
};

/// What ranks wait for. Equal at two moments: it has not ended meanwhile.
struct Wait {
  std::uint64_t number = 0;  // of a collective; of the waiter's message; 0: none
  int group = -1;            // of the collective; -1: of all ranks
  int waiter = -1;           // >= 0: this rank waits for a message of `sender`
  int sender = -1;

  bool is_message() const { return waiter >= 0; }
  auto operator<=>(const Wait&) const = default;
};

struct Verdict {
  Wait wait = {};  // the one that has lasted longest; number 0: none, but no rank has data
  CollectiveKind kind = CollectiveKind::barrier;
  std::uint64_t bytes = 0;
  std::int64_t waited_ns = 0;     // by the rank that has waited longest
  std::vector<int> members = {};  // of a group's collective
  /// In rank order. Empty: all of `within` are in the collective or wait for each other, the
  /// communication itself is stuck.
  std::vector<LateRank> late = {};
  std::vector<int> within = {};  // the ranks that the wait depends on, directly or not

  bool is_stuck() const { return late.empty(); }
  bool is_missing_data() const { return wait.number == 0; }
};

/// Whether any of them has waited for longer than `stall_ns`, for a collective or a message.
bool any_overdue(std::span<const RankState> ranks, std::int64_t stall_ns);

/// True for an overdue wait, or if all of these ranks wait for data: then other nodes must be
/// asked.
bool is_suspicious(std::span<const RankState> ranks, std::int64_t stall_ns);

/// Names the ranks at which the overdue waits end: a rank that is late in a collective, or whose
/// message is, is not late itself while it waits for another one. Returns nullopt if nothing is
/// overdue, or if a rank that closes a circle of waits has only just begun to wait.
/// `ranks`: all, in order. `known`: reported before; the verdict is about this wait while it lasts.
std::optional<Verdict> judge(std::span<const RankState> ranks, std::int64_t stall_ns,
                             const Wait& known = {});

}  // namespace dllaunch
