#include "launcher/failures/book_rates.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "launcher/failures/failure_clock.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double now = 1'800'000'000;
constexpr double hour_s = 3600;
constexpr double day_of_test_s = 24 * hour_s;

NodeSighting used(const std::string& nodes, double hours, double days_ago = 1) {
  return {.time = now - days_ago * day_of_test_s,
          .kind = SightingKind::used,
          .cluster = "c",
          .nodes = nodes,
          .run = "1",
          .value = hours * hour_s};
}
NodeSighting failed(const std::string& node, double value = 1, double days_ago = 1) {
  return {.time = now - days_ago * day_of_test_s,
          .kind = SightingKind::failed,
          .cluster = "c",
          .nodes = node,
          .value = value};
}
std::string problem_of(const std::vector<NodeSighting>& seen, const std::string& cluster = "") {
  const auto rates = rates_of_book(seen, cluster, now);
  return rates ? "" : rates.error().what + "; " + rates.error().hint;
}

TEST(BookRates, AreFailuresOverNodeHours) {
  const auto rates = rates_of_book(
      {used("n[1-4]", 100, 9), failed("n2", 1, 9), used("n[1-8]", 50, 3), failed("n7", 1, 3),
       failed("n7", 0.5, 3), used("n9", 100, 1), failed("n9", 1, 1)},
      "", now);
  ASSERT_TRUE(rates) << rates.error().what;
  EXPECT_DOUBLE_EQ(rates->node_mtbf_s, 900 * hour_s / 3);
  EXPECT_DOUBLE_EQ(rates->uncertain, 1 / std::sqrt(3.0));
  EXPECT_EQ(rates->repair_s, 0) << "the book does not know it";
  EXPECT_EQ(rates->source,
            "node book: 3 failures in 900 node-hours on 9 nodes in 10 days of cluster c; 1 that "
            "may be of programs not counted");
}

TEST(BookRates, NodesThatFailTogetherAreOneObservation) {
  const auto rates = rates_of_book(
      {used("n[1-8]", 100), failed("n1"), failed("n2"), failed("n3"), failed("n4")}, "", now);
  ASSERT_TRUE(rates);
  EXPECT_DOUBLE_EQ(rates->node_mtbf_s, 200 * hour_s);
  EXPECT_EQ(rates->uncertain, 1);
  EXPECT_THAT(rates->groups, ElementsAre(0, 0, 0, 1));
  // A job like the one that was seen loses four nodes at once, every 100 hours.
  const auto hits = hit_rates(*rates, 8);
  EXPECT_NEAR(hits.per_s * 100 * hour_s, 1, 1e-9);
  EXPECT_THAT(hits.shares, ElementsAre(0, 0, 0, testing::DoubleNear(1, 1e-9)));
}

TEST(BookRates, ANodeThatIsToldOfTwiceFailedOnce) {
  auto wrong = failed("n1");
  wrong.kind = SightingKind::corrupted;
  const auto rates = rates_of_book({used("n[1-2]", 10), failed("n1"), wrong}, "", now);
  ASSERT_TRUE(rates);
  EXPECT_DOUBLE_EQ(rates->node_mtbf_s, 20 * hour_s);
}

TEST(BookRates, WithoutAFailureThereIsABoundAndNoForecast) {
  EXPECT_THAT(problem_of({}), HasSubstr("has no run yet"));
  EXPECT_THAT(problem_of({used("n[1-3]", 24), failed("n1", 0.5)}),
              AllOf(HasSubstr("no failure of a node in 72.0 node-hours; 1 that may be of programs "
                              "not counted; "),
                    HasSubstr("by the book a node fails at most once in 24 h (19 of 20 cases)")));
  EXPECT_THAT(problem_of({failed("n1")}), HasSubstr("no run of the last 140 days"));
  EXPECT_THAT(problem_of({failed("n1"), used("n1", 1, 200), used("n[", 1), used("n1", 0)}),
              HasSubstr("no run of the last 140 days"));
}

/// Twenty jobs of 16 nodes, on a switch that takes a node of each.
TEST(BookRates, WhatJobsLoseIsGroupedByJob) {
  std::vector<NodeSighting> seen;
  for (int job = 0; job < 20; ++job) {
    auto ran = used(fmt::format("n[{}-{}]", 16 * job + 1, 16 * job + 16), 100);
    auto lost = failed(fmt::format("n{}", 16 * job + 1));
    ran.run = lost.run = std::to_string(job);
    ran.time += job;
    lost.time += job;
    seen.insert(seen.end(), {ran, lost});
  }
  const auto rates = rates_of_book(seen, "", now);
  ASSERT_TRUE(rates);
  EXPECT_THAT(rates->groups, ElementsAre(1));
  EXPECT_EQ(rates->uncertain, 1) << "of one switch";
  // Each job of 16 nodes was interrupted once in its 100 hours.
  EXPECT_NEAR(hit_rates(*rates, 16).per_s * 100 * hour_s, 1, 1e-9);
}

TEST(BookRates, AListInSeveralLinesIsOneStart) {
  auto later = used("n[1-6]", 100, 3);
  later.run = "2";
  const auto rates =
      rates_of_book({used("n[1-4]", 100), used("n[5-8]", 100), later, failed("n1")}, "", now);
  ASSERT_TRUE(rates);
  EXPECT_EQ(rates->fleet, 8);
}

TEST(BookRates, WhatTheBookForgetsIsLeftOut) {
  const auto rates = rates_of_book({used("n1", 1000, 200), failed("n1", 1, 200), failed("n1", 1, 9),
                                    used("n[1-2]", 10, 5), failed("n2", 1, 5)},
                                   "", now);
  ASSERT_TRUE(rates);
  EXPECT_DOUBLE_EQ(rates->node_mtbf_s, 20 * hour_s) << "a failure of 9 days ago, hours of 5";
}

TEST(BookRates, AClusterIsNamedWhereThereAreSeveral) {
  auto other = used("m1", 5);
  other.cluster = "d";
  const std::vector<NodeSighting> seen = {used("n1", 10), failed("n1"), other};
  EXPECT_THAT(problem_of(seen), AllOf(HasSubstr("several clusters"), HasSubstr("book:c, book:d")));
  EXPECT_THAT(problem_of(seen, "e"), HasSubstr("no node of cluster e"));
  EXPECT_EQ(problem_of(seen, "c"), "");
  EXPECT_THAT(problem_of(seen, "d"), HasSubstr("in 5.0 node-hours"));
}

/// A pre-flight outside Slurm writes down what it sees of a node, and names no cluster.
TEST(BookRates, OnlyWhereRanksRanIsACluster) {
  auto unfit = failed("login1", 0.5);
  unfit.kind = SightingKind::unfit;
  unfit.cluster = "";
  auto forgotten = used("m1", 5, 200);
  forgotten.cluster = "d";
  const std::vector<NodeSighting> seen = {used("n1", 10), failed("n1"), unfit, forgotten};
  EXPECT_EQ(problem_of(seen), "");
  EXPECT_THAT(problem_of(seen, "d"), HasSubstr("no node of cluster d"));
  auto other = used("m1", 5);
  other.cluster = "";
  EXPECT_THAT(problem_of({used("n1", 10), failed("n1"), other}),
              AllOf(HasSubstr("several clusters"), testing::EndsWith("name one: book:c")));
}

/// Truth within the range in 8 of 10 books of as many hours, whatever number of failures they had.
/// Exactly 8 are not possible with whole numbers; a range that is too wide would say nothing.
TEST(BookRates, TheRangeHoldsWhatItSays) {
  std::mt19937_64 random(1);
  constexpr double truth_s = 500 * hour_s;
  constexpr int books = 2000;
  for (const int expected : {1, 3, 8, 20}) {
    std::poisson_distribution<int> count(expected);
    int held = 0;
    for (int i = 0; i < books; ++i) {
      std::vector<NodeSighting> seen = {used("n1", expected * truth_s / hour_s, 100)};
      const int failures = count(random);
      for (int k = 0; k < failures; ++k) seen.push_back(failed("n1", 1, 100 - k));
      const auto rates = rates_of_book(seen, "", now);
      // Without a failure the bound holds.
      ASSERT_EQ(static_cast<bool>(rates), failures > 0);
      const auto [low_s, high_s] = rates ? mtbf_range(*rates) : MtbfRange{0, 2 * truth_s};
      held += low_s < truth_s && truth_s < high_s ? 1 : 0;
    }
    EXPECT_GE(held, 0.79 * books) << expected;
    EXPECT_LE(held, 0.95 * books) << expected;
  }
}

TEST(BookRates, TheRangeOfOneFailureIsGarwoods) {
  const auto rates = rates_of_book({used("n1", 100), failed("n1")}, "", now);
  ASSERT_TRUE(rates);
  const auto [low_s, high_s] = mtbf_range(*rates);
  EXPECT_NEAR(low_s / hour_s, 100 / 3.89, 0.2);
  EXPECT_NEAR(high_s / hour_s, 100 / 0.1054, 80) << "by an approximation";
}

/// Whatever a book says, rates are finite and can be simulated.
TEST(BookRates, OfAnyBookAreSound) {
  std::mt19937_64 random(2);
  const auto one_of = [&](auto... values) {
    const std::vector all = {values...};
    return all[random() % all.size()];
  };
  for (int round = 0; round < rounds_here(3000); ++round) {
    std::vector<NodeSighting> seen(random() % 12);
    for (auto& one : seen)
      one = {.time = one_of(1.0, now, now - 1e6, now - 300, 9e10),
             .kind = static_cast<SightingKind>(random() % std::size(sighting_names)),
             .cluster = one_of(std::string("c"), std::string("c"), std::string()),
             .nodes = one_of(std::string("n1"), std::string("n[1-9]"), std::string("n[")),
             .value = one_of(-1e17, 0.0, 0.3, 1.0, 3600.0, 1e17)};
    const auto rates = rates_of_book(seen, one_of(std::string(), std::string("c")), now);
    if (!rates) continue;
    EXPECT_GT(rates->node_mtbf_s, 0);
    EXPECT_TRUE(rates->uncertain > 0 && rates->uncertain <= 1);
    const auto hits = hit_rates(*rates, 4);
    EXPECT_TRUE(std::isfinite(hits.per_s) && hits.per_s > 0);
    FailureClock clock(hits, 1);
    EXPECT_GT(clock.next_after(0, 4, 1e6), 0);
  }
}

}  // namespace
}  // namespace dllaunch
