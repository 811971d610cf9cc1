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
              AllOf(HasSubstr("no failure of a node in 72.0 node-hours"),
                    HasSubstr("may fail every 24 h, or never")));
  EXPECT_THAT(problem_of({failed("n1")}), HasSubstr("no failure of a node in 0.0 node-minutes"));
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

/// Truth within the range in 8 of 10 books, whatever the number of failures.
TEST(BookRates, TheRangeHoldsWhatItSays) {
  std::mt19937_64 random(1);
  constexpr double truth_s = 500 * hour_s;
  constexpr int books = 2000;
  for (const int failures : {1, 3, 20}) {
    // Hours until so many failures have been seen: gamma.
    std::gamma_distribution<double> hours(failures, truth_s / hour_s);
    int held = 0;
    for (int i = 0; i < books; ++i) {
      std::vector<NodeSighting> seen = {used("n1", hours(random), 100)};
      for (int k = 0; k < failures; ++k) seen.push_back(failed("n1", 1, 100 - k));
      const auto rates = rates_of_book(seen, "", now);
      ASSERT_TRUE(rates);
      const auto [low_s, high_s] = mtbf_range(*rates);
      held += low_s < truth_s && truth_s < high_s ? 1 : 0;
    }
    EXPECT_NEAR(held, 0.8 * books, 0.03 * books) << failures;
  }
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
