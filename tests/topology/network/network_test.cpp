#include "topology/network/network.hpp"

#include <gtest/gtest.h>

#include "tests/topology/network/networks.hpp"

namespace dllaunch {
namespace {

Network two_leaves() {
  return {.kind = "tree",
          .source = "here",
          .levels = {"leaf switches", "core switches"},
          .units = {{"core", -1, 1}, {"s1", 0, 0}, {"s2", 0, 0}},
          .leaf_of = {{"a", 1}, {"b", 2}}};
}

TEST(Network, IsSoundIfItCannotLoop) {
  EXPECT_TRUE(is_sound(two_leaves()));
  EXPECT_TRUE(is_sound({}));
  const auto broken = [](auto change) {
    auto network = two_leaves();
    change(network);
    return !is_sound(network);
  };
  EXPECT_TRUE(broken([](Network& n) { n.units[1].parent = 2; })) << "a parent of the same level";
  EXPECT_TRUE(broken([](Network& n) { n.units[0].parent = 0; })) << "its own parent";
  EXPECT_TRUE(broken([](Network& n) { n.units[1].parent = 3; }));
  EXPECT_TRUE(broken([](Network& n) { n.units[1].parent = -2; }));
  EXPECT_TRUE(broken([](Network& n) { n.units[0].level = 2; })) << "a level without a name";
  EXPECT_TRUE(broken([](Network& n) { n.units[1].level = -1; }));
  EXPECT_TRUE(broken([](Network& n) { n.leaf_of["c"] = 3; }));
  EXPECT_TRUE(broken([](Network& n) { n.leaf_of["c"] = -1; }));
  EXPECT_TRUE(broken([](Network& n) { n.walk = {{"a", 0}}; })) << "b is not on the walk";
  EXPECT_TRUE(broken([](Network& n) { n.levels.resize(max_network_levels + 1); }));
}

TEST(Network, FindsTheUnitOfEachLevel) {
  const auto at = units_by_level(two_leaves());
  ASSERT_EQ(at.size(), 2u);
  EXPECT_EQ(at[0], (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(at[1], (std::vector<int>{0, 0, 0}));
}

TEST(Network, FindsTheUnitWhereDepthsDiffer) {
  // core (2) - pod (1) - s1 (0), and s2 (0) directly on the core
  const Network network{.levels = {"leaf", "pod", "core"},
                        .units = {{"core", -1, 2}, {"pod", 0, 1}, {"s1", 1, 0}, {"s2", 0, 0}}};
  const auto at = units_by_level(network);
  EXPECT_EQ(at[0], (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(at[1], (std::vector<int>{0, 1, 1, 3}));
  EXPECT_EQ(at[2], (std::vector<int>{0, 0, 0, 0}));
}

TEST(Network, KnowsTheWidestSegment) {
  auto blocks = assemble_network(
      {.kind = "block"}, {{"b1", {}, {"a", "b", "c", "d"}}, {"b2", {}, {"e", "f", "g", "h", "i"}}});
  EXPECT_EQ(segment_limit(blocks), 4);
  blocks.block_size = 3;
  EXPECT_EQ(segment_limit(blocks), 3);
  EXPECT_EQ(leaf_widths(blocks).widest, 5);
  EXPECT_EQ(segment_limit(two_leaves()), 0);
  EXPECT_EQ(segment_limit({}), 0);
  EXPECT_EQ(widest_segment(12, 5), 4);
  EXPECT_EQ(widest_segment(7, 4), 1);
  EXPECT_EQ(widest_segment(3, 4), 3);
}

}  // namespace
}  // namespace dllaunch
