#include "launcher/nodes/node_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

constexpr double now = 1'800'000'000;

NodeSighting measured(const std::string& node, double age_s, double value,
                      const std::string& like = "") {
  return {.time = now - age_s,
          .kind = SightingKind::measured,
          .cluster = "c",
          .nodes = node,
          .value = value,
          .what = "cpu GFLOP/s",
          .like = like};
}

double share_of(const std::vector<NodeSighting>& seen, const std::string& node) {
  const auto slow = slow_figures(seen, now);
  const auto found = slow.find({"c", node});
  return found == slow.end() ? 1 : found->second.share;
}

TEST(NodeFigures, ANodeAloneIsNotJudged) {
  EXPECT_TRUE(slow_figures({measured("n1", 1, 3)}, now).empty());
  EXPECT_TRUE(slow_figures({measured("n1", 1, 3), measured("n1", 2, 30)}, now).empty());
}

TEST(NodeFigures, IsComparedWithOthersOfItsKind) {
  std::vector seen = {measured("n1", 1, 30, "fast"), measured("n2", 1, 10, "fast")};
  EXPECT_NEAR(share_of(seen, "n2"), 1.0 / 3, 1e-9);
  EXPECT_EQ(share_of(seen, "n1"), 1);
  seen[1].like = "slow";
  EXPECT_EQ(share_of(seen, "n2"), 1);
}

TEST(NodeFigures, IsComparedWithItsOwnPast) {
  std::vector<NodeSighting> seen;
  for (const double age : {3e5, 4e5, 5e5}) seen.push_back(measured("n1", age, 30));
  seen.push_back(measured("n1", 100, 15));
  seen.push_back(measured("n1", 50, 14));
  EXPECT_EQ(share_of(seen, "n1"), 0.5);
  EXPECT_EQ(slow_figures(seen, now).at({"c", "n1"}).words,
            "cpu GFLOP/s 15.0, 0.50 of its own 30.0 before");
}

TEST(NodeFigures, OneSlowMeasurementAmongGoodOnesMayBeANeighbours) {
  EXPECT_EQ(share_of({measured("n1", 1, 30), measured("n2", 100, 30), measured("n2", 1, 10)}, "n2"),
            1);
}

TEST(NodeFigures, WhatAllNodesHaveBecomeIsNoFaultOfOne) {
  std::vector<NodeSighting> seen;
  for (const char* node : {"n1", "n2", "n3"})
    for (const auto& [age, value] :
         {std::pair(5e5, 30.0), std::pair(4e5, 30.0), std::pair(3e5, 30.0), std::pair(20.0, 15.0),
          std::pair(10.0, 15.0)})
      seen.push_back(measured(node, age, value));
  for (const char* node : {"n1", "n2", "n3"}) EXPECT_EQ(share_of(seen, node), 1) << node;
}

/// The median of the others, by sorting them for each node.
TEST(NodeFigures, AgreeWithTheDefinition) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto nodes = 2 + random() % 8;
    std::vector<double> values;
    std::vector<NodeSighting> seen;
    for (std::size_t i = 0; i < nodes; ++i) {
      values.push_back(1 + static_cast<double>(random() % 5));
      seen.push_back(measured("n" + std::to_string(i), 1, values.back()));
    }
    for (std::size_t i = 0; i < nodes; ++i) {
      auto others = values;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      std::sort(others.begin(), others.end());
      const double expected = std::min(1.0, values[i] / others[(others.size() - 1) / 2]);
      EXPECT_DOUBLE_EQ(share_of(seen, "n" + std::to_string(i)), expected) << round;
    }
  }
}

}  // namespace
}  // namespace dllaunch
