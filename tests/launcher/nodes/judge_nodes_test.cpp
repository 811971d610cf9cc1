#include "launcher/nodes/judge_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>

namespace dllaunch {
namespace {

using testing::HasSubstr;

constexpr double now = 1'800'000'000;
constexpr double hour = 3600;

NodeSighting seen_of(SightingKind kind, const std::string& node, double age_s, double value) {
  return {.time = now - age_s, .kind = kind, .cluster = "c", .nodes = node, .value = value};
}
NodeSighting lost(const std::string& node, double age_s) {
  auto seen = seen_of(SightingKind::failed, node, age_s, 1);
  seen.words = "Slurm lost it";
  return seen;
}
NodeSighting used(const std::string& nodes, double age_s, double seconds) {
  auto seen = seen_of(SightingKind::used, nodes, age_s, seconds);
  seen.of = seconds;
  return seen;
}

NodeJudgement judgement_of(const std::vector<NodeSighting>& seen, const std::string& node,
                           double at = now) {
  for (const auto& one : judge_nodes(seen, at))
    if (one.node == node) return one;
  ADD_FAILURE() << node << " was not judged";
  return {};
}

TEST(JudgeNodes, ANodeOfWhichNothingIsKnownIsGood) {
  const auto judged = judge_nodes({used("n[1-3]", 10, hour)}, now);
  ASSERT_EQ(judged.size(), 3u);
  for (const auto& one : judged) {
    EXPECT_EQ(one.grade, NodeGrade::good);
    EXPECT_EQ(one.why, "");
    EXPECT_EQ(one.used_s, hour);
  }
}

TEST(JudgeNodes, OneLossIsWatchedTwoAreAvoided) {
  EXPECT_EQ(judgement_of({lost("n2", hour)}, "n2").grade, NodeGrade::watch);
  const auto twice = judgement_of({lost("n2", hour), lost("n2", 3 * day_s)}, "n2");
  EXPECT_EQ(twice.grade, NodeGrade::avoid);
  EXPECT_EQ(twice.why, "2 failures, the last 60 minutes ago: Slurm lost it");
}

TEST(JudgeNodes, AJobWhoseRanksAreKilledAgainAndAgainCountsOnce) {
  const auto killed = [](const std::string& run, double age_s) {
    auto seen = seen_of(SightingKind::failed, "n2", age_s, 0.5);
    seen.run = run;
    return seen;
  };
  std::vector<NodeSighting> seen;
  for (int i = 9; i > 0; --i) seen.push_back(killed("17", i * 60));
  const auto once = judgement_of(seen, "n2");
  EXPECT_NEAR(once.failures, 0.5, 0.01);
  EXPECT_THAT(once.why, HasSubstr("1 failure, the last 60 s ago"));
  for (const char* run : {"18", "19", "20"}) seen.push_back(killed(run, 30));
  EXPECT_EQ(judgement_of(seen, "n2").grade, NodeGrade::avoid) << "several jobs";
  auto lost_again = lost("n3", hour);
  lost_again.run = "17";
  EXPECT_NEAR(judgement_of({lost_again, lost_again}, "n3").failures, 2, 0.01)
      << "a loss is the node's";
}

TEST(JudgeNodes, ANodeOnWhichAScriptVanishedThreeTimesIsWatched) {
  auto vanished = seen_of(SightingKind::failed, "n2", 60, vanished_script_weight);
  vanished.run = "17";
  EXPECT_EQ(judgement_of({vanished}, "n2").grade, NodeGrade::good);
  EXPECT_EQ(judgement_of({vanished, vanished, vanished}, "n2").grade, NodeGrade::watch);
}

TEST(JudgeNodes, ForgetsWithAHalfLifeOfTwoWeeks) {
  EXPECT_EQ(weight_of_age(0), 1);
  EXPECT_DOUBLE_EQ(weight_of_age(14 * day_s), 0.5);
  EXPECT_DOUBLE_EQ(weight_of_age(28 * day_s), 0.25);
  EXPECT_EQ(weight_of_age(-1000), 1) << "another node's clock";
  const std::vector twice = {lost("n2", hour), lost("n2", 2 * hour)};
  EXPECT_EQ(judgement_of(twice, "n2").grade, NodeGrade::avoid);
  EXPECT_EQ(judgement_of(twice, "n2", now + 14 * day_s).grade, NodeGrade::watch);
  EXPECT_EQ(judgement_of(twice, "n2", now + 50 * day_s).grade, NodeGrade::good);
  EXPECT_TRUE(judge_nodes(twice, now + 150 * day_s).empty());
}

TEST(JudgeNodes, WhatHitsManyNodesAtOnceIsTheClusters) {
  std::vector<NodeSighting> switched_off;
  for (const char* node : {"n1", "n2", "n3", "n4"})
    for (const double age : {hour, day_s}) switched_off.push_back(lost(node, age));
  for (const auto& one : judge_nodes(switched_off, now)) EXPECT_EQ(one.grade, NodeGrade::good);
  // Elsewhere, or at another time, it is the node's.
  switched_off.push_back(lost("n4", 2 * hour));
  switched_off.push_back(lost("n4", 3 * hour));
  EXPECT_EQ(judgement_of(switched_off, "n4").grade, NodeGrade::avoid);
  const std::vector pair = {lost("n1", hour), lost("n2", hour + 30)};
  EXPECT_NEAR(judgement_of(pair, "n1").failures, 0.5, 0.01);
}

/// What own failures are, by their definition, one pair of them after the other.
double failures_of(const std::vector<NodeSighting>& seen, const std::string& node) {
  double failures = 0;
  for (const auto& one : seen) {
    std::set<std::string> together;
    for (const auto& other : seen)
      if (std::abs(other.time - one.time) <= 600) together.insert(other.nodes);
    const double own = together.size() >= 3 ? 0 : together.size() == 2 ? 0.5 : 1;
    if (one.nodes == node) failures += own * weight_of_age(now - one.time);
  }
  return failures;
}

TEST(JudgeNodes, FailuresTogetherAreCountedAsDefined) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<NodeSighting> seen;
    for (int i = 0; i < 20; ++i)
      seen.push_back(
          lost("n" + std::to_string(random() % 5), 300.0 * static_cast<double>(random() % 40)));
    for (const auto& one : judge_nodes(seen, now))
      EXPECT_NEAR(one.failures, failures_of(seen, one.node), 1e-9);
  }
}

TEST(JudgeNodes, WhatAClockThatIsAheadWroteDoesNotCount) {
  EXPECT_EQ(judgement_of({lost("n2", -hour), lost("n2", -hour)}, "n2").grade, NodeGrade::avoid);
  EXPECT_TRUE(judge_nodes({lost("n2", -2 * day_s), lost("n2", -365 * day_s)}, now).empty());
}

TEST(JudgeNodes, OnlyUsesNameSeveralNodes) {
  EXPECT_EQ(judge_nodes({used("n[1-2],n3", 0, 1)}, now).size(), 3u);
  EXPECT_TRUE(judge_nodes({lost("n[1-2]", 0), lost("n1,n2", 0)}, now).empty());
}

TEST(JudgeNodes, ClustersAreApart) {
  auto elsewhere = lost("n1", hour);
  elsewhere.cluster = "d";
  const auto judged = judge_nodes({lost("n1", hour), elsewhere, used("n1", 10, 10)}, now);
  ASSERT_EQ(judged.size(), 2u);
  for (const auto& one : judged) EXPECT_NEAR(one.failures, 1, 0.01);
}

TEST(JudgeNodes, ANodeThatOthersWaitForIsAvoidedAtOnce) {
  auto late = seen_of(SightingKind::late, "n2", 10, 300);
  late.of = 995;
  const std::vector seen = {used("n[1-2]", 10, 995), late};
  const auto judged = judgement_of(seen, "n2");
  EXPECT_EQ(judged.grade, NodeGrade::avoid);
  EXPECT_THAT(judged.why, HasSubstr("others waited for it 30 % of their training"));
  EXPECT_EQ(judgement_of(seen, "n1").grade, NodeGrade::good);
  // Many good hours since: once in a hundred.
  auto longer = seen;
  longer.push_back(used("n[1-2]", 5, 100'000));
  EXPECT_EQ(judgement_of(longer, "n2").grade, NodeGrade::good);
  EXPECT_EQ(judgement_of(seen, "n2", now + 30 * day_s).grade, NodeGrade::watch);
}

/// The five good seconds that are assumed of it are not told as if they had been seen.
TEST(JudgeNodes, LatenessInAShortTrainingIsToldAsSeenAndCountsLess) {
  auto late = seen_of(SightingKind::late, "n2", 10, 1.3);
  late.of = 2;
  const auto judged = judgement_of({used("n[1-2]", 10, 2), late}, "n2");
  EXPECT_EQ(judged.grade, NodeGrade::watch);
  EXPECT_THAT(judged.why, HasSubstr("others waited for it 65 % of their training of 2 s, last"));
  EXPECT_NEAR(judged.late_share, 0.65, 1e-9);
}

TEST(JudgeNodes, WrongNumbersAreEnough) {
  const auto judged = judgement_of({seen_of(SightingKind::corrupted, "n2", hour, 1)}, "n2");
  EXPECT_EQ(judged.grade, NodeGrade::avoid);
  EXPECT_THAT(judged.why, HasSubstr("wrong numbers"));
}

TEST(JudgeNodes, CorrectedMemoryErrorsAreWatchedAndNeverEnough) {
  const auto counts = [](std::vector<double> values) {
    std::vector<NodeSighting> seen;
    double age = 10 * hour;
    for (const double value : values)
      seen.push_back(seen_of(SightingKind::memory_error, "n2", age -= hour, value));
    return judgement_of(seen, "n2");
  };
  EXPECT_EQ(counts({5000}).grade, NodeGrade::good) << "since when is not known";
  EXPECT_EQ(counts({5000, 5010}).grade, NodeGrade::good);
  EXPECT_EQ(counts({5000, 5200}).grade, NodeGrade::watch);
  EXPECT_EQ(counts({5000, 200}).grade, NodeGrade::watch) << "it was booted";
  EXPECT_EQ(counts({0, 1e6}).grade, NodeGrade::watch);
}

TEST(JudgeNodes, ASlowNodeIsAvoided) {
  std::vector<NodeSighting> seen;
  for (const auto& [node, value] :
       {std::pair("n1", 30.0), std::pair("n2", 12.0), std::pair("n3", 31.0)}) {
    seen.push_back(seen_of(SightingKind::measured, node, 60, value));
    seen.back().what = "cpu GFLOP/s";
  }
  const auto judged = judgement_of(seen, "n2");
  EXPECT_EQ(judged.grade, NodeGrade::avoid);
  EXPECT_EQ(judged.why, "cpu GFLOP/s 12.0, 0.40 of the other nodes' 30.0, 60 s ago");
  EXPECT_EQ(judgement_of(seen, "n1").grade, NodeGrade::good);
}

TEST(JudgeNodes, TheWorstComeFirst) {
  const auto judged = judge_nodes({used("n[1-9]", 1, 1), lost("n7", hour), lost("n7", day_s),
                                   lost("n3", 5 * hour), lost("n5", 9 * day_s)},
                                  now);
  ASSERT_EQ(judged.size(), 9u);
  EXPECT_EQ(judged[0].node, "n7");
  EXPECT_EQ(judged[1].node, "n3");
  EXPECT_EQ(judged[2].node, "n5");
  EXPECT_EQ(judged[3].node, "n1");
}

TEST(JudgeNodes, NonsenseIsJudgedToo) {
  EXPECT_TRUE(judge_nodes({}, now).empty());
  EXPECT_TRUE(judge_nodes({lost("n[1-", 1)}, now).empty()) << "no host list";
  auto strange = lost("n1", 1);
  strange.value = -1e17;
  EXPECT_EQ(judgement_of({strange}, "n1").grade, NodeGrade::good);
}

}  // namespace
}  // namespace dllaunch
