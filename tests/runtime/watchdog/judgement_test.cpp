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
  state.begun[0] = 7;
  state.ended[0] = 6;
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
  state.begun[0] = 6;
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
  begun.begun[0] = 7;
  EXPECT_THAT(late_with(begun), ElementsAre(LateRank{2, WhyLate::not_attending}));

  auto stopped = waiting(2);
  stopped.heartbeat_age_ns = stale_heartbeat_ns + 1;
  EXPECT_THAT(late_with(stopped), ElementsAre(LateRank{2, WhyLate::unresponsive}));
  stopped.ended[0] = 7;  // others may still need it to deliver what it sent
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
  later.waiting_for = later.begun[0] = 9;
  later.waiting_age_ns = 40 * s;
  later.bytes = 1;
  const auto verdict =
      judge(std::vector{waiting(0), longer, later, busy(3, RankPhase::data, 60)}, stall);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->wait.number, 7u);
  EXPECT_EQ(verdict->waited_ns, 15 * s);
  EXPECT_EQ(verdict->bytes, 4096u);
  EXPECT_EQ(verdict->kind, CollectiveKind::all_reduce);
}

TEST(Judgement, RanksThatFinishedItAreNotLate) {
  auto ahead = busy(2, RankPhase::update, 12);
  ahead.begun[0] = ahead.ended[0] = 7;
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
  EXPECT_EQ(verdict->wait.number, 0u);
  EXPECT_EQ(verdict->waited_ns, 12 * s);
  EXPECT_EQ(verdict->late.size(), 2u);
  EXPECT_TRUE(is_suspicious(all, stall));

  // A long forward pass is not a fault.
  const std::vector<RankState> some = {busy(0, RankPhase::data, 11),
                                       busy(1, RankPhase::forward, 12)};
  EXPECT_FALSE(judge(some, stall));
  EXPECT_FALSE(is_suspicious(some, stall));
}

/// Has waited 12 s for a message, in stage `rank` of a pipeline.
RankState waiting_for(int rank, int sender) {
  RankState state = waiting(rank);
  state.phase = RankPhase::pipeline;
  state.group = rank;
  state.begun[0] = 6;
  state.waiting_for = 40;
  state.waiting_rank = sender;
  return state;
}

TEST(Judgement, FollowsMessagesToTheRankThatWaitsForNone) {
  using testing::ElementsAre;
  std::vector<RankState> ranks = {waiting_for(0, 1), waiting_for(1, 2), waiting_for(2, 3),
                                  busy(3, RankPhase::forward, 13)};
  ranks[2].waiting_age_ns = 13 * s;
  const auto verdict = judge(ranks, stall);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->wait, (Wait{.number = 40, .waiter = 2, .sender = 3})) << "the longest";
  EXPECT_EQ(verdict->waited_ns, 13 * s);
  EXPECT_THAT(verdict->late, ElementsAre(LateRank{3, WhyLate::busy}));

  // What is known stays the subject; a rank in between that has only begun to wait is not late.
  ranks[1].waiting_age_ns = s;
  const auto first = judge(ranks, stall, {.number = 40, .waiter = 0, .sender = 1});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->wait.waiter, 0);
  EXPECT_THAT(first->late, ElementsAre(LateRank{3, WhyLate::busy, 2}));
}

TEST(Judgement, OfAMessageHasTheReasonsOfACollective) {
  const auto why = [](const RankState& sender) {
    const auto verdict = judge(std::vector{waiting_for(0, 1), sender}, stall);
    return verdict && verdict->late.size() == 1 ? std::optional(verdict->late[0].why)
                                                : std::nullopt;
  };
  auto sender = busy(1, RankPhase::data, 70);
  EXPECT_EQ(why(sender), WhyLate::busy);
  sender.heartbeat_age_ns = stale_heartbeat_ns + 1;
  EXPECT_EQ(why(sender), WhyLate::unresponsive);
  sender.silent = true;
  EXPECT_EQ(why(sender), WhyLate::silent);
  sender.dead = true;
  EXPECT_EQ(why(sender), WhyLate::died);
  sender.left = true;
  EXPECT_EQ(why(sender), WhyLate::left);
}

TEST(Judgement, DoesNotBlameWhoWaitsForAMessageOrIsAlreadyInTheCollective) {
  // Replicas 2 and 3 of the last stage; 2 and 0 are in the sums of all, 1 waits for 3.
  auto stopped = busy(3, RankPhase::backward, 20);
  stopped.heartbeat_age_ns = 20 * s;
  const std::vector<RankState> ranks = {waiting(0), waiting_for(1, 3), waiting(2), stopped};
  const auto verdict = judge(ranks, stall);
  ASSERT_TRUE(verdict);
  ASSERT_EQ(verdict->late.size(), 1u);
  EXPECT_EQ(verdict->late[0].rank, 3);
  EXPECT_EQ(verdict->late[0].why, WhyLate::unresponsive);
}

TEST(Judgement, CollectivesOfAGroupConcernOnlyItsRanks) {
  std::vector<RankState> ranks = {busy(0, RankPhase::forward, 3), busy(1, RankPhase::forward, 3),
                                  waiting(2), busy(3, RankPhase::backward, 20)};
  for (auto& state : ranks) state.group = state.rank / 2;
  ranks[2].scope = CollectiveScope::group;
  ranks[2].begun = {6, 7};
  const auto verdict = judge(ranks, stall);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->wait, (Wait{.number = 7, .group = 1}));
  EXPECT_EQ(verdict->members, (std::vector<int>{2, 3}));
  EXPECT_EQ(verdict->late, (std::vector<LateRank>{{3, WhyLate::not_arrived}}));
}

TEST(Judgement, ACircleOfMessagesIsStuckCommunication) {
  std::vector<RankState> ranks = {waiting_for(0, 1), waiting_for(1, 2), waiting_for(2, 1),
                                  busy(3, RankPhase::forward, 1)};
  const auto verdict = judge(ranks, stall);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->is_stuck());
  EXPECT_EQ(verdict->within, (std::vector<int>{0, 1, 2}));
  ranks[2].waiting_age_ns = s;
  EXPECT_FALSE(judge(ranks, stall)) << "its message may be on the way";
}

/// All ranks but one wait, for a message, for all ranks or for their stage: only that one is named.
TEST(Judgement, OfAPipelineNamesOnlyTheRankThatDoesNotWait) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int named = 0;
  for (int round = 0; round < 20'000; ++round) {
    const int replicas = 1 + below(3);
    const int count = replicas * (1 + below(4));
    const int bad = below(count);
    std::vector<RankState> ranks;
    for (int rank = 0; rank < count; ++rank) {
      RankState state = waiting(rank);
      state.group = rank / replicas;
      state.waiting_age_ns = (1 + below(20)) * s;
      const int what = rank == bad ? 3 : below(3);
      state.begun = {what == 0 ? 7U : 6U, what == 1 ? 7U : 6U};
      state.ended = {6, 6};
      if (what == 1) state.scope = CollectiveScope::group;
      if (what == 2) state.waiting_rank = below(count);
      if (what == 3) state.waiting_for = 0;
      ranks.push_back(state);
    }
    RankState& culprit = ranks[static_cast<std::size_t>(bad)];
    culprit.dead = below(4) == 0;
    culprit.silent = below(4) == 0;
    culprit.left = below(6) == 0;
    if (below(3) == 0) culprit.heartbeat_age_ns = 2 * s;
    const auto verdict = judge(ranks, stall);
    if (!verdict) continue;
    if (verdict->is_stuck()) {
      for (const int rank : verdict->within) {
        EXPECT_GT(ranks[static_cast<std::size_t>(rank)].waiting_age_ns, stall);
        EXPECT_NE(rank, bad);
      }
      continue;
    }
    ++named;
    ASSERT_EQ(verdict->late.size(), 1u) << round;
    EXPECT_EQ(verdict->late[0].rank, bad) << round;
    EXPECT_EQ(judge(ranks, stall, verdict->wait)->wait, verdict->wait);
  }
  EXPECT_GT(named, 5000);
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
      state.begun[0] = static_cast<std::uint64_t>(below(4));
      state.ended[0] = static_cast<std::uint64_t>(below(static_cast<unsigned>(state.begun[0]) + 1));
      state.waiting_for = below(2) == 0 ? 0 : state.begun[0];
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
          is_answering(state) && state.waiting_for != 0 && state.begun[0] >= verdict->wait.number;
      EXPECT_FALSE(sound) << round;
    }
  }
  EXPECT_GT(verdicts, 5000);
}

}  // namespace
}  // namespace dllaunch
