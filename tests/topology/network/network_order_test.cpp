#include "topology/network/network_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/tier.hpp"
#include "tests/topology/network/networks.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

/// Two pods of two leaves of three nodes: a1 a2 a3 | b1 b2 b3 || c1 c2 c3 | d1 d2 d3
Network two_pods() {
  std::vector<DescribedUnit> units = {
      {"core", {"east", "west"}, {}}, {"west", {"sc", "sd"}, {}}, {"east", {"sa", "sb"}, {}}};
  for (const std::string leaf : {"a", "b", "c", "d"})
    units.push_back({"s" + leaf, {}, {leaf + "1", leaf + "2", leaf + "3"}});
  return assemble_network({.kind = "tree", .source = "two pods"}, units);
}

Names order(const Names& nodes, const Names& before = {}) {
  return network_order(two_pods(), nodes, before);
}

TEST(NetworkOrder, LeavesEachUnitOnce) {
  const Names nodes = {"d1", "a2", "c1", "b1", "a1", "c2", "b2", "d2"};
  const auto ordered = order(nodes);
  EXPECT_EQ(ordered, (Names{"a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"}));
  EXPECT_EQ(ring_crossings(two_pods(), nodes), (std::vector<int>{7, 6, 0}));
  EXPECT_EQ(ring_crossings(two_pods(), ordered), (std::vector<int>{4, 2, 0}));
}

TEST(NetworkOrder, CountsAsPeopleDo) {
  const auto network = regular_tree(1, 12, 2);
  EXPECT_EQ(network_order(network, {"n10", "n2", "n1"}), (Names{"n1", "n2", "n10"}));
}

TEST(NetworkOrder, IsTheOneBeforeForTheSameNodes) {
  const Names before = {"d1", "a2", "c1", "b1"};
  EXPECT_EQ(order({"a2", "b1", "c1", "d1"}, before), before) << "even if it was not the network's";
}

TEST(NetworkOrder, ASpareTakesTheLostPlaceOnItsLeaf) {
  const Names before = {"c2", "c1", "a1", "a3", "b1"};
  EXPECT_EQ(order({"a1", "a2", "b1", "c1", "c2"}, before), (Names{"c2", "c1", "a1", "a2", "b1"}));
  EXPECT_EQ(order({"a1", "a3", "b1", "c1", "c3"}, before), (Names{"c3", "c1", "a1", "a3", "b1"}))
      << "rank 0's too";
}

TEST(NetworkOrder, ASpareOnAnotherLeafDisturbsNobody) {
  const Names before = {"a1", "a2", "b1", "b2", "c1", "c2"};
  EXPECT_EQ(order({"a1", "a2", "b1", "b2", "b3", "c2"}, before),
            (Names{"a1", "a2", "b1", "b2", "b3", "c2"}));
  EXPECT_EQ(order({"a2", "b1", "b2", "c1", "c2", "d1"}, before),
            (Names{"a2", "b1", "b2", "d1", "c1", "c2"}))
      << "a new leaf goes where its pod allows it";
  EXPECT_EQ(order({"a1", "a2", "b2", "c1", "c2", "d1"}, before),
            (Names{"a1", "a2", "b2", "d1", "c1", "c2"}));
}

TEST(NetworkOrder, PairsTheNearest) {
  const Names before = {"a1", "b1", "c1", "d1"};
  // Lost: a1 and c1. d2 is nearer to c1, b2 to a1.
  EXPECT_EQ(order({"b1", "b2", "d1", "d2"}, before), (Names{"b2", "b1", "d2", "d1"}));
}

TEST(NetworkOrder, GrowsAtTheEndAndShrinks) {
  const Names before = {"b1", "b2", "a1"};
  EXPECT_EQ(order({"b1", "b2", "a1", "d1", "a2"}, before), (Names{"b1", "b2", "a1", "a2", "d1"}));
  EXPECT_EQ(order({"a1", "b2"}, before), (Names{"b2", "a1"}));
}

TEST(NetworkOrder, IsTheGivenOneIfADescriptionLies) {
  const Names nodes = {"d1", "a2", "n19", "b1"};
  EXPECT_EQ(order(nodes), nodes);
  EXPECT_EQ(why_not_ordered(two_pods(), nodes), "two pods does not have n19");
  EXPECT_EQ(why_not_ordered(two_pods(), {"a01", "x", "y"}),
            "two pods does not have a01 (it has a1) and 2 others");
  EXPECT_EQ(why_not_ordered(two_pods(), {"a1", "a1"}), "a1 is listed twice");
  EXPECT_EQ(why_not_ordered({}, {"a1"}), "the network between the nodes is not known");
  EXPECT_EQ(network_order({}, {"b", "a"}), (Names{"b", "a"}));
  auto loop = two_pods();
  loop.units[0].parent = 1;
  EXPECT_EQ(why_not_ordered(loop, {"a1"}), "the description of the network contradicts itself");
  EXPECT_EQ(network_order(loop, nodes), nodes);
  EXPECT_EQ(ring_crossings(loop, nodes), std::vector<int>());
}

TEST(NetworkOrder, TakesAnyStoredOrder) {
  EXPECT_EQ(order({"a1", "b1"}, {"b1", "x", "x", "b1"}), (Names{"b1", "a1"}));
  EXPECT_EQ(order({}, {"a1"}), Names());
  EXPECT_EQ(order({"a2", "a1"}, {"z"}), (Names{"a1", "a2"}));
}

TEST(NetworkOrder, FollowsTheWalkOfARing) {
  auto ring = assemble_network({.kind = "ring", .source = "a ring"},
                               {{"r1", {}, {"a", "b", "c"}}, {"r2", {}, {"d", "e", "f"}}});
  ring.walk = {{"a", 0}, {"c", 1}, {"b", 2}, {"f", 3}, {"e", 4}, {"d", 5}};
  EXPECT_EQ(network_order(ring, {"a", "b", "c", "d", "e"}), (Names{"a", "c", "b", "e", "d"}));
  // c was the first: the leaf r1 lies round the end of the list, but the ring leaves it once.
  const auto again = network_order(ring, {"a", "b", "c", "d", "f"}, {"x", "c", "b", "e", "d", "a"});
  EXPECT_EQ(again, (Names{"c", "b", "f", "d", "a"}));
  EXPECT_EQ(ring_crossings(ring, again), std::vector<int>{2});
}

TEST(NetworkOrder, CountsUnknownNodesAsApart) {
  EXPECT_EQ(ring_crossings(two_pods(), {"a1", "x", "a2"}), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(ring_crossings(two_pods(), {"a1"}), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(ring_crossings(two_pods(), {}), (std::vector<int>{0, 0, 0}));
}

/// Nodes of `before` that are still there, in their order.
Names staying(const Names& from, const Names& nodes) {
  Names kept;
  for (const auto& name : from) {
    if (std::ranges::find(nodes, name) != nodes.end()) kept.push_back(name);
  }
  return kept;
}

TEST(NetworkOrder, HoldsForAnyTree) {
  std::mt19937 random(27);
  for (int round = rounds_here(4000); round > 0; --round) {
    const auto network = random_tree(random);
    ASSERT_TRUE(is_sound(network));
    auto nodes = drawn(network, 1 + random() % 24, random);
    const auto first = network_order(network, nodes);
    EXPECT_EQ(ring_crossings(network, first), fewest_crossings(network, nodes));
    std::ranges::shuffle(nodes, random);
    ASSERT_EQ(network_order(network, nodes), first) << "whatever order they come in";
    ASSERT_EQ(network_order(network, nodes, first), first);

    // A few nodes are lost, a few come.
    auto next = staying(drawn(network, nodes.size() - random() % nodes.size(), random), nodes);
    for (const auto& spare : drawn(network, random() % 4, random)) {
      if (std::ranges::find(nodes, spare) == nodes.end()) next.push_back(spare);
    }
    const auto second = network_order(network, next, first);
    EXPECT_TRUE(std::ranges::is_permutation(second, next));
    EXPECT_EQ(ring_crossings(network, second), fewest_crossings(network, next));
    EXPECT_EQ(staying(second, first), staying(first, next)) << "those that stay, in their order";
    if (!next.empty() && std::ranges::find(next, first.front()) != next.end()) {
      EXPECT_EQ(second.front(), first.front()) << "rank 0 stays where it is";
    }
    std::ranges::shuffle(next, random);
    ASSERT_EQ(network_order(network, next, first), second);
  }
}

TEST(NetworkOrder, HasTheFewestCrossingsAfterAnyHistory) {
  std::mt19937 random(28);
  for (int round = rounds_here(1000); round > 0; --round) {
    const auto network = random_tree(random);
    const auto before = drawn(network, random() % 24, random);  // not in network order
    const auto nodes = drawn(network, 1 + random() % 24, random);
    const auto ordered = network_order(network, nodes, before);
    EXPECT_TRUE(std::ranges::is_permutation(ordered, nodes));
    if (std::ranges::is_permutation(nodes, before)) continue;
    EXPECT_EQ(ring_crossings(network, ordered), fewest_crossings(network, nodes));
    const auto stay = staying(before, nodes);
    if (!before.empty() && !stay.empty() && stay.front() == before.front()) {
      EXPECT_EQ(ordered.front(), before.front());
    }
  }
}

}  // namespace
}  // namespace dllaunch
