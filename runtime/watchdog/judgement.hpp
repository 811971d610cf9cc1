// Who keeps the others waiting: a pure question about what all ranks say of themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/activity/activity.hpp"

namespace dllaunch {

/// What is known of a rank at one moment. Ages instead of times: hosts' clocks differ.
struct RankState {
  int rank = 0;
  int node = 0;
  bool dead = false;                  // its process is gone, and it had not said goodbye
  bool left = false;                  // it has said goodbye
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

/// A watchdog that has not run for so long was stopped with its process, or starved.
constexpr std::int64_t stale_heartbeat_ns = 1'000'000'000;

bool is_answering(const RankState& state);

enum class WhyLate {
  died,
  silent,         // with its node
  unresponsive,   // stopped or starved, wherever it is
  left,           // ended its training without this collective
  not_arrived,    //
  not_attending,  // has begun it and does something else: it may not go on without this rank
  no_batch,       // waits for data, as all do
};

struct LateRank {
  int rank = 0;
  WhyLate why = WhyLate::not_arrived;
  bool operator==(const LateRank&) const = default;
};

struct Verdict {
  std::uint64_t collective = 0;  // the first that is late; 0: none, nobody has data
  CollectiveKind kind = CollectiveKind::barrier;
  std::uint64_t bytes = 0;
  std::int64_t waited_ns = 0;  // by who waits longest
  /// In rank order. Empty: every rank is there, the communication itself is stuck.
  std::vector<LateRank> late = {};

  bool is_stuck() const { return late.empty(); }
};

/// The first collective that any of them has waited for longer than `stall_ns`; 0: none.
std::uint64_t overdue_collective(std::span<const RankState> ranks, std::int64_t stall_ns);

/// True also where all of these wait for data: others must be asked what they do.
bool is_suspicious(std::span<const RankState> ranks, std::int64_t stall_ns);

/// Nothing where no collective is late, or where the last rank has only just arrived. `ranks`: all.
std::optional<Verdict> judge(std::span<const RankState> ranks, std::int64_t stall_ns);

}  // namespace dllaunch
