#include "launcher/nodes/compact_sightings.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "launcher/nodes/judge_nodes.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

constexpr double now = 1'800'000'000;
constexpr std::size_t large = 1 << 30;

std::vector<NodeSighting> some_months(std::mt19937& random, int count) {
  std::vector<NodeSighting> all;
  for (int i = 0; i < count; ++i) {
    NodeSighting one{.time = now - static_cast<double>(random() % (150 * 86400)),
                     .kind = static_cast<SightingKind>(random() % std::size(sighting_names)),
                     .cluster = "c",
                     .nodes = fmt::format("n{}", random() % 20),
                     .value = static_cast<double>(random() % 100) / 10};
    if (one.kind == SightingKind::used) one.nodes = random() % 2 == 0 ? "n[0-9]" : "n[5-19]";
    if (one.kind == SightingKind::used || one.kind == SightingKind::late) one.of = one.value;
    if (one.kind == SightingKind::measured) one.what = "cpu GFLOP/s";
    all.push_back(one);
  }
  std::ranges::sort(all, {}, &NodeSighting::time);
  return all;
}

std::map<std::string, NodeJudgement> judged(const std::vector<NodeSighting>& seen) {
  std::map<std::string, NodeJudgement> nodes;
  for (const auto& one : judge_nodes(seen, now)) nodes[one.node] = one;
  return nodes;
}

TEST(CompactSightings, ChangesNoJudgement) {
  std::mt19937 random(4);
  for (int round = 0; round < rounds_here(5); ++round) {
    const auto all = some_months(random, 2000);
    const auto kept = compact_sightings(all, now, large);
    EXPECT_LT(kept.size(), all.size());
    const auto before = judged(all);
    const auto after = judged(kept);
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [node, one] : before) {
      EXPECT_EQ(after.at(node).grade, one.grade) << node;
      EXPECT_NEAR(after.at(node).failures, one.failures, 0.02 * one.failures + 1e-9) << node;
      EXPECT_NEAR(after.at(node).late_share, one.late_share, 0.01) << node;
      EXPECT_NEAR(after.at(node).used_s, one.used_s, 1e-6 * one.used_s) << node;
    }
    EXPECT_EQ(compact_sightings(kept, now, large), kept) << "once is enough";
  }
}

TEST(CompactSightings, IsBoundedAndKeepsTheNewest) {
  std::mt19937 random(5);
  const auto all = some_months(random, 3000);
  for (const std::size_t most : {0, 1000, 20'000}) {
    const auto kept = compact_sightings(all, now, most);
    std::size_t bytes = 0;
    for (const auto& one : kept) bytes += line_of(one).size();
    EXPECT_LE(bytes, most);
    EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &NodeSighting::time));
    if (most == 20'000) {
      EXPECT_GT(bytes, most / 2);
    }
  }
}

TEST(CompactSightings, ForgetsWhatTheJudgeForgot) {
  const NodeSighting old{
      .time = now - 141 * day_s, .kind = SightingKind::failed, .nodes = "n1", .value = 1};
  auto recent = old;
  recent.time = now;
  EXPECT_THAT(compact_sightings({old, recent, recent}, now, large), testing::Each(recent));
}

TEST(CompactSightings, AClockThatIsWrongByAYearDropsNothing) {
  std::mt19937 random(6);
  std::vector<NodeSighting> all;
  for (int i = 0; i < 1000; ++i)
    all.push_back({.time = now - static_cast<double>(random() % (100 * 86400)),
                   .kind = SightingKind::failed,
                   .nodes = fmt::format("n{}", i),
                   .value = 1});
  std::ranges::sort(all, {}, &NodeSighting::time);
  for (const double clock : {now + 365 * day_s, now - 365 * day_s}) {
    EXPECT_EQ(compact_sightings(all, clock, large), all);
    auto and_its_own = all;
    and_its_own.push_back({.time = clock, .kind = SightingKind::failed, .nodes = "x", .value = 1});
    EXPECT_GE(compact_sightings(and_its_own, clock, large).size(), all.size());
  }
}

TEST(CompactSightings, WhatAClockThatIsAYearAheadWroteIsDroppedByOthers) {
  const NodeSighting recent{
      .time = now - day_s, .kind = SightingKind::failed, .nodes = "n1", .value = 1};
  auto ahead = recent;
  ahead.time = now + 365 * day_s;
  EXPECT_THAT(compact_sightings({recent, recent, ahead}, now, large), testing::Each(recent));
}

TEST(CompactSightings, OfOneNodeAndKindTheNewestAreKept) {
  std::vector<NodeSighting> all;
  for (int i = 0; i < 100; ++i)
    all.push_back({.time = now - i, .kind = SightingKind::failed, .nodes = "n1", .value = 1});
  const auto kept = compact_sightings(all, now, large);
  EXPECT_EQ(kept.size(), 32u);
  EXPECT_EQ(kept.back().time, now);
}

TEST(CompactSightings, OfLinesTheNewestThatFit) {
  const std::vector<std::string> lines = {"a\n", "bb\n", "ccc\n"};
  EXPECT_EQ(newest_within(lines, 100), "a\nbb\nccc\n");
  EXPECT_EQ(newest_within(lines, 7), "bb\nccc\n");
  EXPECT_EQ(newest_within(lines, 6), "ccc\n");
  EXPECT_EQ(newest_within(lines, 3), "");
  EXPECT_EQ(newest_within({}, 3), "");
}

}  // namespace
}  // namespace dllaunch
