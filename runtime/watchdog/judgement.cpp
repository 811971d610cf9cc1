#include "runtime/watchdog/judgement.hpp"

#include <algorithm>

namespace dllaunch {
namespace {

bool waits_longer(const RankState& state, std::int64_t than_ns) {
  return !state.dead && !state.left && state.waiting_for != 0 && state.waiting_age_ns > than_ns;
}

std::optional<WhyLate> lateness(const RankState& state, std::uint64_t collective) {
  if (state.left) {
    return state.begun < collective ? std::optional(WhyLate::left) : std::nullopt;
  }
  if (state.dead) return WhyLate::died;
  if (state.silent) return WhyLate::silent;
  // Wherever it is: its help may be needed to deliver what it sent.
  if (state.heartbeat_age_ns > stale_heartbeat_ns) return WhyLate::unresponsive;
  if (state.begun < collective) return WhyLate::not_arrived;
  if (state.waiting_for == 0 && state.ended < collective) return WhyLate::not_attending;
  return std::nullopt;
}

/// Whether every rank that still trains has lacked a batch for this long.
bool all_lack_data(std::span<const RankState> ranks, std::int64_t stall_ns) {
  bool any = false;
  for (const RankState& state : ranks) {
    if (state.left || state.dead) continue;
    const bool lacks =
        state.phase == RankPhase::data && state.waiting_for == 0 && state.phase_age_ns > stall_ns;
    if (!lacks) return false;
    any = true;
  }
  return any;
}

Verdict without_data(std::span<const RankState> ranks) {
  Verdict verdict;
  for (const RankState& state : ranks) {
    if (state.left) continue;
    verdict.late.push_back({state.rank, state.dead ? WhyLate::died : WhyLate::no_batch});
    verdict.waited_ns = std::max(verdict.waited_ns, state.phase_age_ns);
  }
  return verdict;
}

}  // namespace

bool is_answering(const RankState& state) {
  return !state.dead && !state.left && !state.silent &&
         state.heartbeat_age_ns <= stale_heartbeat_ns;
}

std::uint64_t overdue_collective(std::span<const RankState> ranks, std::int64_t stall_ns) {
  std::uint64_t first = 0;
  for (const RankState& state : ranks) {
    if (!waits_longer(state, stall_ns)) continue;
    if (first == 0 || state.waiting_for < first) first = state.waiting_for;
  }
  return first;
}

bool is_suspicious(std::span<const RankState> ranks, std::int64_t stall_ns) {
  return overdue_collective(ranks, stall_ns) != 0 || all_lack_data(ranks, stall_ns);
}

std::optional<Verdict> judge(std::span<const RankState> ranks, std::int64_t stall_ns) {
  const std::uint64_t collective = overdue_collective(ranks, stall_ns);
  if (collective == 0) {
    return all_lack_data(ranks, stall_ns) ? std::optional(without_data(ranks)) : std::nullopt;
  }
  Verdict verdict{.collective = collective};
  bool all_have_waited = true;
  for (const RankState& state : ranks) {
    if (const auto why = lateness(state, collective)) verdict.late.push_back({state.rank, *why});
    if (!state.left && !waits_longer(state, stall_ns)) all_have_waited = false;
    if (state.waiting_for != collective || state.waiting_age_ns < verdict.waited_ns) continue;
    verdict.kind = state.kind;
    verdict.bytes = state.bytes;
    verdict.waited_ns = state.waiting_age_ns;
  }
  if (verdict.is_stuck() && !all_have_waited) return std::nullopt;
  std::ranges::sort(verdict.late, {}, &LateRank::rank);
  return verdict;
}

}  // namespace dllaunch
