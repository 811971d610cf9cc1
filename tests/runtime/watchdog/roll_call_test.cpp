// Whole clusters in one loop: every rank's roll call, a network that loses and delays messages, and
// a separate clock on each node.
#include "runtime/watchdog/roll_call.hpp"
#include "tests/support/tier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>

namespace dllaunch {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t stall = 1000 * ms;
constexpr std::int64_t tick = 100 * ms;

struct Cluster {
  Cluster(int nodes, int ranks_per_node) : per_node(ranks_per_node) {
    for (int node = 0; node < nodes; ++node) {
      auto& here = nodes_.emplace_back();
      for (int i = 0; i < ranks_per_node; ++i) here.push_back(node * ranks_per_node + i);
    }
    for (int rank = 0; rank < nodes * ranks_per_node; ++rank) {
      calls.emplace_back(nodes_, rank, stall);
      ranks.push_back({.rank = rank,
                       .node = rank / ranks_per_node,
                       .begun = {5, 0},
                       .ended = {4, 0},
                       .waiting_for = 5});
    }
  }

  int size() const { return static_cast<int>(ranks.size()); }
  int node_of(int rank) const { return rank / per_node; }
  std::int64_t clock_of(int rank) const { return now + (node_of(rank) + 1) * 777'000 * ms; }

  /// As seen by its node's ranks: those that do not run have old heartbeats.
  std::vector<RankState> own_states(int rank) const {
    std::vector<RankState> own;
    for (const int each : nodes_[static_cast<std::size_t>(node_of(rank))]) {
      RankState state = ranks[static_cast<std::size_t>(each)];
      state.waiting_age_ns = state.waiting_for != 0 ? now : 0;
      state.phase_age_ns = now;
      state.heartbeat_age_ns = stopped.contains(each) ? now : 0;
      own.push_back(state);
    }
    return own;
  }

  bool is_speaker(int rank) const {
    for (const int each : nodes_[static_cast<std::size_t>(node_of(rank))]) {
      if (each == rank) return true;
      if (!stopped.contains(each)) return false;
    }
    return false;
  }

  void deliver(const std::vector<WatchdogMessage>& messages) {
    for (const auto& message : messages) {
      ++sent;
      const bool cut_off = cut.contains(node_of(message.from)) != cut.contains(node_of(message.to));
      if (cut_off || stopped.contains(message.to)) continue;
      if (loss > 0 && static_cast<int>(random() % 100) < loss) continue;
      ++received[message.to];
      const auto to = static_cast<std::size_t>(message.to);
      deliver(calls[to].receive(message, clock_of(message.to), own_states(message.to)));
    }
  }

  void step() {
    for (int rank = 0; rank < size(); ++rank) {
      if (stopped.contains(rank)) continue;
      auto& call = calls[static_cast<std::size_t>(rank)];
      deliver(call.tick(clock_of(rank), own_states(rank), is_speaker(rank)));
    }
    now += tick;
  }

  /// Returns the rank that judges with complete information, and sets when; -1: none by `until`.
  int judge_by(std::int64_t until) {
    while (now <= until) {
      step();
      for (int rank = 0; rank < size(); ++rank) {
        const auto& call = calls[static_cast<std::size_t>(rank)];
        if (!stopped.contains(rank) && call.is_active() && call.is_judge() &&
            call.is_complete(clock_of(rank)))
          return rank;
      }
    }
    return -1;
  }

  std::optional<Verdict> verdict_of(int rank) {
    const auto own = own_states(rank);
    return judge(calls[static_cast<std::size_t>(rank)].everyone(clock_of(rank), own), stall);
  }

  int per_node;
  std::vector<std::vector<int>> nodes_;
  std::vector<RollCall> calls;
  std::vector<RankState> ranks;
  std::set<int> stopped;  // ranks
  std::set<int> cut;      // nodes that reach only each other
  int loss = 0;           // percent
  std::int64_t now = 0;   // the beginning of the wait
  long sent = 0;
  std::map<int, long> received;
  std::mt19937 random{42};
};

void make_late(Cluster& cluster, int rank) {
  RankState& state = cluster.ranks[static_cast<std::size_t>(rank)];
  state.begun[0] = 4;
  state.waiting_for = 0;
  state.phase = RankPhase::forward;
}

TEST(RollCall, SendsNothingWhileNothingIsLate) {
  Cluster cluster(8, 4);
  while (cluster.now < stall) cluster.step();
  EXPECT_EQ(cluster.sent, 0);
}

TEST(RollCall, OfOneNodeNeedsNoMessages) {
  Cluster cluster(1, 4);
  make_late(cluster, 2);
  EXPECT_EQ(cluster.judge_by(stall + 2 * tick), 0);
  EXPECT_EQ(cluster.sent, 0);
}

TEST(RollCall, TheFirstNodeJudgesWhicheverNodeIsLate) {
  for (const int late : {0, 3, 5, 31}) {
    Cluster cluster(8, 4);
    make_late(cluster, late);
    const int judge = cluster.judge_by(stall + 500 * ms);
    ASSERT_EQ(judge, 0);
    const auto verdict = cluster.verdict_of(judge);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->late, (std::vector<LateRank>{{late, WhyLate::not_arrived}}));
  }
}

TEST(RollCall, ANodeWhereAllAreLateIsAskedToo) {
  Cluster cluster(3, 2);
  for (const int rank : {0, 1}) make_late(cluster, rank);
  const int judge = cluster.judge_by(stall + 500 * ms);
  ASSERT_EQ(judge, 0) << "its watchdogs run";
  EXPECT_EQ(cluster.verdict_of(judge)->late.size(), 2u);
}

TEST(RollCall, StoppedSpeakersAreReplaced) {
  Cluster cluster(4, 4);
  cluster.stopped = {0, 1, 4, 5, 6};
  const int judge = cluster.judge_by(stall + 1200 * ms);
  ASSERT_EQ(judge, 2);
  EXPECT_EQ(cluster.verdict_of(judge)->late.size(), 5u);
}

TEST(RollCall, ASilentNodeIsNamedWithinASecondAndAHalf) {
  Cluster cluster(5, 2);
  cluster.cut = {3};
  const int judge = cluster.judge_by(stall + 1500 * ms);
  ASSERT_EQ(judge, 0);
  const auto verdict = cluster.verdict_of(judge);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->late, (std::vector<LateRank>{{6, WhyLate::silent}, {7, WhyLate::silent}}));
}

TEST(RollCall, WhenTheFirstNodesAreSilentTheNextOneJudges) {
  Cluster cluster(5, 2);
  cluster.cut = {0};
  bool second_judged = false;
  while (cluster.now < stall + 2500 * ms && !second_judged) {
    cluster.step();
    const auto& call = cluster.calls[2];
    second_judged = call.is_judge() && call.is_complete(cluster.clock_of(2));
    EXPECT_FALSE(cluster.calls[4].is_judge());
  }
  ASSERT_TRUE(second_judged);
  EXPECT_EQ(cluster.verdict_of(2)->late,
            (std::vector<LateRank>{{0, WhyLate::silent}, {1, WhyLate::silent}}));
}

TEST(RollCall, LostDatagramsAreSentAgain) {
  for (const int loss : {10, 30}) {
    Cluster cluster(12, 3);
    cluster.loss = loss;
    make_late(cluster, 17);
    const int judge = cluster.judge_by(stall + 2500 * ms);
    ASSERT_GE(judge, 0) << loss;
    EXPECT_THAT(cluster.verdict_of(judge)->late,
                testing::Contains(LateRank{17, WhyLate::not_arrived}));
  }
}

TEST(RollCall, ManyNodesAreKnownAtOnceAndCostLittle) {
  const int nodes = full_tier() ? 1000 : 500;
  Cluster cluster(nodes, 2);
  make_late(cluster, 432);
  const int judge = cluster.judge_by(stall + 500 * ms);
  ASSERT_EQ(judge, 0);
  EXPECT_EQ(cluster.verdict_of(judge)->late, (std::vector<LateRank>{{432, WhyLate::not_arrived}}));
  // A second of waiting: four rounds, after one in which contacts are made.
  for (int i = 0; i < 10; ++i) cluster.step();
  const long before = cluster.sent;
  const long before_judge = cluster.received[0];
  for (const auto until = cluster.now + 1000 * ms; cluster.now < until;) cluster.step();
  EXPECT_LE(cluster.sent - before, 5 * 2 * nodes);
  EXPECT_LE(cluster.received[0] - before_judge, 5 * nodes);
}

TEST(RollCall, EndsWhenTheCollectiveDoes) {
  Cluster cluster(4, 2);
  make_late(cluster, 5);
  ASSERT_EQ(cluster.judge_by(stall + 500 * ms), 0);
  for (RankState& state : cluster.ranks) state.waiting_for = 0;
  for (int i = 0; i < 15; ++i) cluster.step();
  const long sent = cluster.sent;
  for (int i = 0; i < 10; ++i) cluster.step();
  EXPECT_EQ(cluster.sent, sent);
  EXPECT_FALSE(cluster.calls[0].is_active());
}

}  // namespace
}  // namespace dllaunch
