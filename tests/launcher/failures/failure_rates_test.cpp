#include "launcher/failures/failure_rates.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace dllaunch {
namespace {

constexpr double day_s = 86400;

/// Nodes that fail every `mtbf_s` of their time up and are repaired within a day.
NodeOutages invented(int nodes, double days, double mtbf_s) {
  NodeOutages seen{.nodes = nodes, .until_s = days * day_s};
  std::mt19937_64 random(1);
  std::exponential_distribution<double> wait(1 / mtbf_s);
  for (int node = 0; node < nodes; ++node)
    for (double at = wait(random); at < seen.until_s; at += day_s + wait(random))
      seen.all.push_back({.node = fmt::format("n{:04}", node),
                          .failed_s = at,
                          .repaired_s = std::min(at + day_s, seen.until_s)});
  return seen;
}

TEST(FailureRates, WhatWasInventedIsFound) {
  const auto rates = fit_failure_rates(invented(500, 400, 100 * day_s), "invented");
  ASSERT_TRUE(rates);
  EXPECT_NEAR(rates->node_mtbf_s / day_s, 100, 5);
  EXPECT_NEAR(rates->repair_s, day_s, 0.01 * day_s);
  EXPECT_LT(rates->uneven_times, 0.15);
  EXPECT_LT(rates->uneven_nodes, 0.15);
  EXPECT_EQ(rates->fleet, 500);
  EXPECT_NEAR(std::accumulate(rates->groups.begin(), rates->groups.end(), 0.0), 1, 1e-9);
}

/// Half of the nodes fail three times as often as the others: cv 0.5.
TEST(FailureRates, UnevenNodesAreFound) {
  auto seen = invented(500, 400, 100 * day_s);
  auto bad = invented(500, 400, 100 * day_s / 3);
  for (auto& outage : bad.all) outage.node[0] = 'b';
  seen.all.insert(seen.all.begin(), bad.all.begin(), bad.all.end());
  seen.nodes = 1000;
  const auto rates = fit_failure_rates(seen, "");
  ASSERT_TRUE(rates);
  EXPECT_NEAR(rates->uneven_nodes, 0.5, 0.1);
}

TEST(FailureRates, AnOutageFromBeforeIsNoFailure) {
  NodeOutages seen{.nodes = 2, .until_s = 100 * day_s};
  seen.all.push_back({"n1", 0, 100 * day_s, /*began_before=*/true});
  EXPECT_FALSE(fit_failure_rates(seen, ""));
  seen.all.push_back({"n2", 60 * day_s, 61 * day_s});
  const auto rates = fit_failure_rates(seen, "");
  ASSERT_TRUE(rates);
  EXPECT_EQ(rates->repair_s, day_s);
  EXPECT_EQ(rates->groups, std::vector<double>{1});
  const auto up =
      fit_failure_rates({.all = {seen.all[1]}, .nodes = 2, .until_s = seen.until_s}, "");
  ASSERT_TRUE(up);
  EXPECT_LT(rates->node_mtbf_s, up->node_mtbf_s * 0.6) << "one node was up, not two";
}

TEST(FailureRates, GroupsAreFound) {
  NodeOutages seen{.nodes = 10, .until_s = 100 * day_s};
  for (int node = 0; node < 4; ++node)
    seen.all.push_back({fmt::format("n{}", node), 10 * day_s + node * 200.0, 11 * day_s});
  seen.all.push_back({"n8", 50 * day_s, 51 * day_s});
  const auto rates = fit_failure_rates(seen, "");
  ASSERT_TRUE(rates);
  EXPECT_EQ(rates->groups, (std::vector<double>{0.5, 0, 0, 0.5}));
}

/// In a large fleet the next node always fails soon.
TEST(FailureRates, AGroupEnds) {
  NodeOutages seen{.nodes = 1000, .until_s = 100 * day_s};
  for (int node = 0; node < 1000; ++node)
    seen.all.push_back({fmt::format("n{:03}", node), node * 250.0, 11 * day_s});
  const auto rates = fit_failure_rates(seen, "");
  ASSERT_TRUE(rates);
  ASSERT_EQ(rates->groups.size(), 3U);
  EXPECT_GT(rates->groups[2], 0.99);
}

TEST(FailureRates, WithoutAFailureThereAreNone) {
  const auto rates = fit_failure_rates({.nodes = 3, .until_s = day_s}, "");
  ASSERT_FALSE(rates);
  EXPECT_EQ(rates.error().kind, ErrorKind::unsatisfiable);
}

TEST(FailureRates, AJobIsHitByItsShareOfTheGroups) {
  const FailureRates rates{.node_mtbf_s = 100 * day_s, .groups = {0.5, 0, 0, 0.5}, .fleet = 100};
  for (const int nodes : {1, 2, 10, 100, 500}) {
    const auto hits = hit_rates(rates, nodes);
    double mean = 0;
    for (std::size_t i = 0; i < hits.shares.size(); ++i)
      mean += hits.shares[i] * static_cast<double>(i + 1);
    EXPECT_NEAR(hits.per_s * mean, nodes / rates.node_mtbf_s, 1e-9 / day_s)
        << "failures a second of " << nodes << " nodes";
  }
  EXPECT_EQ(hit_rates({.node_mtbf_s = 50}, 5).per_s, 0.1) << "without groups";
}

TEST(FailureRates, OfRepairsFollowsWhatIsOut) {
  EXPECT_EQ(share_in_repair({.node_mtbf_s = 90, .repair_s = 10}), 0.1);
  EXPECT_EQ(share_in_repair({.node_mtbf_s = 90}), 0);
}

}  // namespace
}  // namespace dllaunch
