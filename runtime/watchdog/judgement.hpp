// Decides which ranks are late: a pure function of all ranks' states.
#pragma once

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
  bool dead = false;                  // its process has exited without leaving properly
  bool left = false;                  // it has finished
  bool silent = false;                // its whole node does not answer
  std::int64_t heartbeat_age_ns = 0;  // of its watchdog
  std::int64_t step = 0;
  RankPhase phase = RankPhase::start;
  std::int64_t phase_age_ns = 0;
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  std::uint64_t waiting_for = 0;
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
  no_batch,       // waits for data, as all do
};

struct LateRank {
  int rank = 0;
  WhyLate why = WhyLate::not_arrived;
  bool operator==(const LateRank&) const = default;
};

struct Verdict {
  std::uint64_t collective = 0;  // the first that is late; 0: none, but no rank has data
  CollectiveKind kind = CollectiveKind::barrier;
  std::uint64_t bytes = 0;
  std::int64_t waited_ns = 0;  // by the rank that has waited longest
  /// In rank order. Empty: every rank is in the collective, the communication itself is stuck.
  std::vector<LateRank> late = {};

  bool is_stuck() const { return late.empty(); }
};

/// Returns the first collective that any of them has waited for longer than `stall_ns`; 0 if none.
std::uint64_t overdue_collective(std::span<const RankState> ranks, std::int64_t stall_ns);

/// True for an overdue collective, or if all of these ranks wait for data: then other nodes must be
/// asked.
bool is_suspicious(std::span<const RankState> ranks, std::int64_t stall_ns);

/// Returns nullopt if no collective is late, or if the last rank has only just arrived.
/// `ranks`: all.
std::optional<Verdict> judge(std::span<const RankState> ranks, std::int64_t stall_ns);

}  // namespace dllaunch
