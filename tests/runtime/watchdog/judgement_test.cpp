#include "runtime/watchdog/judgement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace dllaunch {
namespace {

constexpr std::int64_t s = 1'000'000'000;
constexpr std::int64_t stall = 10 * s;

/// Has waited in collective 7 for 12 s.
RankState waiting(int rank) {
  RankState state;
  state.rank = rank;
  state.step = 3;
  state.phase = RankPhase::reduce;
  state.phase_age_ns = 12 * s;
  state.begun = 7;
  state.ended = 6;
  state.waiting_for = 7;
  state.waiting_age_ns = 12 * s;
  state.kind = CollectiveKind::all_reduce;
  state.bytes = 4096;
  return state;
}

RankState busy(int rank, RankPhase phase, std::int64_t seconds) {
  RankState state = waiting(rank);
  state.phase = phase;
  state.phase_age_ns = seconds * s;
  state.begun = 6;
  state.waiting_for = 0;
  return state;
}

std::vector<LateRank> late_with(const RankState& third) {
  const std::vector<RankState> ranks = {waiting(0), waiting(1), third};
  const auto verdict = judge(ranks, stall);
  return verdict ? verdict->late : std::vector<LateRank>{{-1, WhyLate::left}};
}

TEST(Judgement, NothingIsLateBeforeTheStallTime) {
  auto short_wait = waiting(0);
  short_wait.waiting_age_ns = stall;
  EXPECT_FALSE(judge(std::vector{short_wait, busy(1, RankPhase::backward, 50)}, stall));
  EXPECT_FALSE(judge({}, stall));
}

TEST(Judgement, NamesTheLateRanksAndTheReasons) {
  using testing::ElementsAre;
  EXPECT_THAT(late_with(busy(2, RankPhase::backward, 12)),
              ElementsAre(LateRank{2, WhyLate::not_arrived}));

  auto begun = busy(2, RankPhase::backward, 12);
  begun.begun = 7;
  EXPECT_THAT(late_with(begun), ElementsAre(LateRank{2, WhyLate::not_attending}));

  auto stopped = waiting(2);
  stopped.heartbeat_age_ns = stale_heartbeat_ns + 1;
  EXPECT_THAT(late_with(stopped), ElementsAre(LateRank{2, WhyLate::unresponsive}));
  stopped.ended = 7;  // others may still need it to deliver what it sent
  EXPECT_THAT(late_with(stopped), ElementsAre(LateRank{2, WhyLate::unresponsive}));

  auto dead = stopped;
  dead.dead = true;
  EXPECT_THAT(late_with(dead), ElementsAre(LateRank{2, WhyLate::died}));

  auto silent = stopped;
  silent.silent = true;
  EXPECT_THAT(late_with(silent), ElementsAre(LateRank{2, WhyLate::silent}));

  auto left = busy(2, RankPhase::end, 12);
  left.left = true;
  left.heartbeat_age_ns = 100 * s;
  EXPECT_THAT(late_with(left), ElementsAre(LateRank{2, WhyLate::left}));
}

TEST(Judgement, NamesTheCollectiveAndTheDelay) {
  auto longer = waiting(1);
  longer.waiting_age_ns = 15 * s;
  auto later = waiting(2);
  later.waiting_for = later.begun = 9;
  later.waiting_age_ns = 40 * s;
  later.bytes = 1;
  const auto verdict =
      judge(std::vector{waiting(0), longer, later, busy(3, RankPhase::data, 60)}, stall);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->collective, 7u);
  EXPECT_EQ(verdict->waited_ns, 15 * s);
  EXPECT_EQ(verdict->bytes, 4096u);
  EXPECT_EQ(verdict->kind, CollectiveKind::all_reduce);
}

TEST(Judgement, RanksThatFinishedItAreNotLate) {
  auto ahead = busy(2, RankPhase::update, 12);
  ahead.begun = ahead.ended = 7;
  EXPECT_EQ(late_with(ahead), (std::vector<LateRank>{{-1, WhyLate::left}}));
}

TEST(Judgement, TheCommunicationIsStuckOnlyWhenAllHaveWaitedForIt) {
  const auto all = judge(std::vector{waiting(0), waiting(1), waiting(2)}, stall);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->is_stuck());

  auto just_arrived = waiting(2);
  just_arrived.waiting_age_ns = s;
  EXPECT_FALSE(judge(std::vector{waiting(0), waiting(1), just_arrived}, stall));
}

TEST(Judgement, RanksThatAllLackDataAreLateWithoutACollective) {
  const std::vector<RankState> all = {busy(0, RankPhase::data, 11), busy(1, RankPhase::data, 12)};
  const auto verdict = judge(all, stall);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->collective, 0u);
  EXPECT_EQ(verdict->waited_ns, 12 * s);
  EXPECT_EQ(verdict->late.size(), 2u);
  EXPECT_TRUE(is_suspicious(all, stall));

  // A long forward pass is not a fault.
  const std::vector<RankState> some = {busy(0, RankPhase::data, 11),
                                       busy(1, RankPhase::forward, 12)};
  EXPECT_FALSE(judge(some, stall));
  EXPECT_FALSE(is_suspicious(some, stall));
}

/// For any states: a named rank is not merely waiting, and is named once, in order.
TEST(Judgement, HoldsForAnyStates) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  int verdicts = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<RankState> ranks;
    for (int rank = 0; rank < 1 + below(5); ++rank) {
      RankState state;
      state.rank = rank;
      state.dead = below(12) == 0;
      state.left = below(12) == 0;
      state.silent = below(12) == 0;
      state.heartbeat_age_ns = below(8) == 0 ? 2 * s : 0;
      state.begun = static_cast<std::uint64_t>(below(4));
      state.ended = static_cast<std::uint64_t>(below(static_cast<unsigned>(state.begun) + 1));
      state.waiting_for = below(2) == 0 ? 0 : state.begun;
      state.waiting_age_ns = below(20) * s;
      state.phase = static_cast<RankPhase>(below(phases));
      state.phase_age_ns = below(20) * s;
      ranks.push_back(state);
    }
    const auto verdict = judge(ranks, stall);
    if (!verdict) continue;
    ++verdicts;
    EXPECT_TRUE(is_suspicious(ranks, stall));
    EXPECT_GT(verdict->waited_ns, stall);
    EXPECT_TRUE(std::ranges::is_sorted(verdict->late, {}, &LateRank::rank));
    for (const LateRank& late : verdict->late) {
      const RankState& state = ranks[static_cast<std::size_t>(late.rank)];
      const bool sound =
          is_answering(state) && state.waiting_for != 0 && state.begun >= verdict->collective;
      EXPECT_FALSE(sound) << round;
    }
  }
  EXPECT_GT(verdicts, 5000);
}

}  // namespace
}  // namespace dllaunch
