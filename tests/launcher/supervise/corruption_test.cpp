#include "launcher/supervise/corruption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>

#include "launcher/supervise/policy.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

const std::string event =
    R"({"time":5.5,"event":"corrupted","step":50,"since":40,"what":["weights"],"how":"majority",)"
    R"("ranks":[1,3],"hosts":["n2.site","elsewhere"],"line":"step 50: ...","generation":3})"
    "\n";

TEST(Corruption, IsToldForEachRank) {
  const auto found = corruptions_in("junk\n" + event, 3, {"n1", "n2"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_EQ(found[0].host, "n2.site");
  EXPECT_EQ(found[0].node, "n2");
  EXPECT_EQ(found[0].step, 50);
  EXPECT_EQ(found[0].since, 40);
  EXPECT_EQ(found[0].time, 5.5);
  EXPECT_EQ(found[0].how, "majority");
  EXPECT_EQ(found[1].rank, 3);
  EXPECT_EQ(found[1].node, "") << "not one of the job's";
  EXPECT_THAT(bad_nodes(found).nodes, ElementsAre("n2"));
  EXPECT_TRUE(corruptions_in(event, 2, {"n1"}).empty()) << "of another start";
}

TEST(Corruption, WithoutARankIsToldOnce) {
  const auto found = corruptions_in(
      R"({"time":5,"event":"corrupted","how":"pending","ranks":[],"hosts":[],"generation":1})", 1,
      {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, -1);
  EXPECT_TRUE(bad_nodes(found).nodes.empty());
}

TEST(Corruption, ExplainsAnAttemptThatFailed) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/events.jsonl") << event;
  const RunDir run{.path = folder.path()};
  Attempt attempt{.job = "17", .allocation = 2, .cause = Cause::failed, .exit_code = 1};
  const auto found = look_for_corruptions(run, {.nodes = "n[1-2]"}, 3, attempt);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].job, "17");
  EXPECT_EQ(found[0].allocation, 2);
  EXPECT_EQ(attempt.cause, Cause::corrupted);
  EXPECT_EQ(describe(attempt), "step 50: ...");
  EXPECT_FALSE(attempt.asks) << "a rank is named";
  Attempt cancelled{.cause = Cause::cancelled};
  EXPECT_EQ(look_for_corruptions(run, {}, 3, cancelled).size(), 2U);
  EXPECT_EQ(cancelled.cause, Cause::cancelled);
  std::ofstream(folder.path() + "/events.jsonl")
      << R"({"time":5,"event":"corrupted","how":"pending","ranks":[],"hosts":[],"generation":3})";
  Attempt first{.cause = Cause::failed, .exit_code = 1};
  look_for_corruptions(run, {}, 3, first);
  EXPECT_EQ(first.cause, Cause::corrupted);
  EXPECT_TRUE(first.asks);
}

/// It was told whose numbers cannot be known, and the ranks went on.
TEST(Corruption, ExplainsNoAttemptThatWentOnAfterIt) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/events.jsonl")
      << event << R"({"time":6.5,"event":"step","step":60,"generation":3})"
      << "\n";
  Attempt attempt{.job = "17", .cause = Cause::failed, .exit_code = 1};
  EXPECT_EQ(look_for_corruptions({.path = folder.path()}, {.nodes = "n[1-2]"}, 3, attempt).size(),
            2U);
  EXPECT_EQ(attempt.cause, Cause::failed);
}

TEST(Corruption, OfTwoRanksOfANodeCountsOnce) {
  std::vector<JournalCorruption> found(3, {.fencing_token = 1, .node = "n2"});
  EXPECT_THAT(bad_nodes(found).nodes, ElementsAre("n2"));
  found[2].fencing_token = 2;
  EXPECT_THAT(bad_nodes(found).nodes, ElementsAre("n2", "n2"));
}

/// As after other faults of a node; a cluster on which it goes on for ever is left.
TEST(Corruption, IsFollowedByARestartUnlessItRepeatsItself) {
  const RecoverySettings settings{.plan = {.max_restarts = 3}, .trains = true, .asks_ranks = true};
  std::vector<Attempt> history{
      {.job = "17", .cause = Cause::corrupted, .exit_code = 1, .detail = "step 50: ..."}};
  const auto first = decide(history, settings, std::nullopt);
  EXPECT_EQ(first.next, Next::restart);
  EXPECT_EQ(first.reason, "step 50: ...; restart 1 of 3");
  history.push_back(history[0]);
  EXPECT_EQ(decide(history, settings, std::nullopt).next, Next::restart);
  history.push_back(history[0]);
  EXPECT_EQ(decide(history, settings, std::nullopt).next, Next::stop) << "no new checkpoint";
}

TEST(Corruption, DamagedLinesAreSkipped) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = event;
    for (int changes = 0; changes < 4; ++changes) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    for (const auto& one : corruptions_in(damaged, 3, {"n2"}))
      EXPECT_TRUE(one.node.empty() || one.node == "n2") << damaged;
  }
}

}  // namespace
}  // namespace dllaunch
