#include "launcher/nodes/sighting.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/random.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

NodeSighting failure() {
  return {.time = 1795000000.25,
          .kind = SightingKind::failed,
          .cluster = "c",
          .nodes = "n2",
          .run = "17",
          .value = 0.5,
          .words = "rank 1 was killed by signal 9 (SIGKILL)"};
}

/// Texts of any bytes.
NodeSighting any_sighting(std::mt19937& random) {
  const auto text = [&] {
    std::string bytes(random() % 40, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  return {.time = 1 + static_cast<double>(random()),
          .kind = static_cast<SightingKind>(random() % std::size(sighting_names)),
          .cluster = text(),
          .nodes = "n[1-3]",
          .run = text(),
          .value = static_cast<double>(random()) / 7,
          .of = static_cast<double>(random() % 100),
          .what = text(),
          .like = text(),
          .words = text()};
}

TEST(NodeSighting, IsReadAsItWasWritten) {
  const auto line = line_of(failure());
  EXPECT_THAT(line, HasSubstr(R"("kind":"failed","cluster":"c","nodes":"n2","run":"17")"));
  ASSERT_TRUE(line.ends_with("\n"));
  EXPECT_EQ(sighting_in(line.substr(0, line.size() - 1)), failure());
}

TEST(NodeSighting, AnyTextComesBackSafeForATerminal) {
  std::mt19937 random(1);
  for (int i = 0; i < rounds_here(2000); ++i) {
    const auto line = line_of(any_sighting(random));
    const auto read = sighting_in(line.substr(0, line.size() - 1));
    ASSERT_TRUE(read) << line;
    for (const auto* text : {&read->cluster, &read->words, &read->what})
      EXPECT_THAT(*text, Not(HasSubstr("\x1b")));
    // What was read once is written the same.
    EXPECT_EQ(sightings_in(line_of(*read)).all, std::vector{*read});
  }
}

TEST(NodeSighting, ATornLineIsNone) {
  const auto line = line_of(failure());
  for (std::size_t cut = 0; cut + 1 < line.size(); ++cut)
    EXPECT_FALSE(sighting_in(line.substr(0, cut))) << cut;
  for (std::size_t cut = 1; cut < line.size(); ++cut)
    EXPECT_FALSE(sighting_in(line.substr(cut, line.size() - cut - 1))) << cut;
}

TEST(NodeSighting, ADamagedLineIsNone) {
  std::mt19937 random(2);
  const auto line = line_of(failure());
  for (int i = 0; i < rounds_here(2000); ++i) {
    auto damaged = line.substr(0, line.size() - 1);
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 7));
    EXPECT_FALSE(sighting_in(damaged)) << damaged;
  }
}

TEST(NodeSighting, OthersAreReadBesideDamagedOnesAndOnce) {
  auto other = failure();
  other.nodes = "n3";
  const auto line = line_of(failure());
  const auto read =
      sightings_in(line + line.substr(0, 20) + "\n\n{}\nhello\n" + line_of(other) + line);
  EXPECT_THAT(read.all, ElementsAre(failure(), other));
  EXPECT_EQ(read.damaged, 3u);
}

TEST(NodeSighting, AReadLineIsBounded) {
  const auto of_a_newer = [](std::size_t length) {
    auto text = std::string(R"({"time":1,"kind":"later","x":")") + std::string(length, 'x') + '"';
    return fmt::format("{},\"sum\":\"{:016x}\"}}\n", text, stable_hash(text));
  };
  EXPECT_EQ(sightings_in(of_a_newer(60'000)).newer.size(), 1u);
  const auto read = sightings_in(of_a_newer(66'000));
  EXPECT_TRUE(read.newer.empty());
  EXPECT_EQ(read.damaged, 1u);
}

TEST(NodeSighting, OfUsesOfTooManyNodesTheNewestCount) {
  const auto used = [](const std::string& nodes, double time) {
    return NodeSighting{.time = time, .kind = SightingKind::used, .nodes = nodes, .value = 1};
  };
  const auto left_of = [](const std::vector<NodeSighting>& all) {
    std::string text;
    for (const auto& one : all) text += line_of(one);
    const auto read = sightings_in(text);
    EXPECT_EQ(read.left_out, all.size() - read.all.size());
    return read.all;
  };
  const auto lost = failure();
  const auto old = used("x[1-60000]", 1);
  const auto newer = used("y[1-60000]", 2);
  EXPECT_THAT(left_of({old, lost, newer}), ElementsAre(lost, newer));
  const auto again = used("y[1-60000]", 3);
  EXPECT_THAT(left_of({newer, again}), ElementsAre(newer, again)) << "the same nodes";
  EXPECT_THAT(left_of({used("x[1-131072]", 1)}), testing::IsEmpty());
  std::vector<NodeSighting> lists;  // other lists of the same nodes
  for (int i = 0; i < 10; ++i) lists.push_back(used(fmt::format("y[1-{}]", 60'000 + i), 10.0 + i));
  EXPECT_EQ(left_of(lists).size(), 6u);
}

TEST(NodeSighting, ALineIsBounded) {
  auto seen = failure();
  seen.words = std::string(100'000, 'x');
  EXPECT_LT(line_of(seen).size(), 1000u);
}

}  // namespace
}  // namespace dllaunch
