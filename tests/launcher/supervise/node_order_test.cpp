#include "launcher/supervise/node_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

/// Two leaves: n1, n3 and n5 on one, n2, n4 and n6 on the other.
Network two_leaves() {
  Network network{.kind = "tree", .source = "a test", .levels = {"leaf switches", "spines"}};
  network.units = {{.name = "odd", .parent = 2, .level = 0},
                   {.name = "even", .parent = 2, .level = 0},
                   {.name = "spine", .parent = -1, .level = 1}};
  network.leaf_of = {{"n1", 0}, {"n3", 0}, {"n5", 0}, {"n2", 1}, {"n4", 1}, {"n6", 1}};
  return network;
}

TEST(NodeOrder, TakesAsFewLeavesAsPossible) {
  const auto network = two_leaves();
  EXPECT_THAT(nearest_nodes(&network, {"n2", "n3", "n4", "n5", "n6"}, 3, {}),
              ElementsAre("n2", "n4", "n6"))
      << "with the node of the job's script";
  Network three = two_leaves();
  three.leaf_of = {{"n1", 0}, {"n2", 1}, {"n4", 1}, {"n3", 2}, {"n5", 2}};
  EXPECT_THAT(nearest_nodes(&three, {"n1", "n2", "n3", "n4", "n5"}, 3, {}),
              ElementsAre("n1", "n2", "n4"))
      << "leaf by leaf";
  EXPECT_THAT(nearest_nodes(nullptr, {"n2", "n3", "n4"}, 2, {}), ElementsAre("n2", "n3"))
      << "no network: the first";
  EXPECT_THAT(nearest_nodes(&network, {"n2", "n9", "n4"}, 2, {}), ElementsAre("n2", "n4"))
      << "one that the network does not know is far from all";
}

TEST(NodeOrder, ASpareNearTheOthersReplacesALostNode) {
  const auto network = two_leaves();
  const Names before = {"n1", "n3", "n2"};  // n1 is lost
  EXPECT_THAT(nearest_nodes(&network, {"n2", "n3", "n4", "n5"}, 3, before),
              ElementsAre("n2", "n3", "n5"))
      << "both leaves are as near: the first";
  EXPECT_THAT(nearest_nodes(&network, {"n1", "n3", "n4", "n5"}, 3, before),
              ElementsAre("n1", "n3", "n5"));
}

TEST(NodeOrder, StartsAtTheNodeOfTheScriptAndCountsTheEdgesThatLeave) {
  const auto nodes = number_along(two_leaves(), {"n2", "n3", "n4", "n5"}, {});
  EXPECT_EQ(nodes.order, "n[2,4,3,5]");
  ASSERT_EQ(nodes.levels.size(), 2u);
  EXPECT_EQ(nodes.levels[0].given, 4);
  EXPECT_EQ(nodes.levels[0].ordered, 2);
  EXPECT_EQ(words_of(nodes), "2 of 4 ring edges leave leaf switches (4 in Slurm's order); a test");
  EXPECT_THAT(leaf_sizes(two_leaves(), {"n2", "n4", "n3", "n5"}), ElementsAre(2, 2));
  EXPECT_THAT(leaf_sizes(two_leaves(), {"n2", "n9"}), ElementsAre());
}

TEST(NodeOrder, NamesAHostForEachRank) {
  EXPECT_EQ(rank_hosts({"n2", "n1"}, 2), "n2\nn2\nn1\nn1\n");
}

TEST(NodeOrder, SrunAndMpirunFollowTheSameFile) {
  const Names order = {"n3", "n1"};
  auto start =
      start_command_of({"srun", "--nodelist=n[1,3]", "--overlap", "--nodes=2", "--ntasks=4",
                        "dllaunch", "exec", "--run-dir", "r", "--", "app", "-w", "2"});
  start = *follow_order(start, "/r/rank-hosts", order);
  EXPECT_THAT(start.options, ElementsAre("--distribution=arbitrary", "--nodelist=/r/rank-hosts",
                                         "--overlap", "--ntasks=4"));
  start = start_command_of({"mpirun", "--np", "4", "--map-by", "ppr:2:node", "--", "dllaunch",
                            "exec", "--run-dir", "r", "--", "app"});
  start = *follow_order(start, "/r/rank-hosts", order);
  EXPECT_THAT(start.options,
              ElementsAre("--np", "4", "--hostfile", "/r/rank-hosts", "-x", "DLLAUNCH_NODE_ORDER",
                          "-x", "DLLAUNCH_NODE_LEAVES", "--map-by", "seq", "--"));
}

// Their choice of nodes stays, however it is written.
TEST(NodeOrder, WhatTheUserChoseStays) {
  for (const char* option :
       {"--nodelist=n1", "--distribution=cyclic", "-wn1", "-mcyclic", "-xn2", "-r1", "--exclude=n2",
        "--relative=1", "--nodefile=f", "--nodes=3", "-N2"}) {
    const auto start = follow_order(
        start_command_of({"srun", option, "dllaunch", "exec", "--run-dir", "r", "--", "app"}), "/f",
        {"n3", "n1"});
    ASSERT_FALSE(start) << option;
    EXPECT_THAT(start.error().what, HasSubstr(option));
  }
  EXPECT_FALSE(follow_order(start_command_of({"bash", "-c", "true"}), "/f", {"n1", "n2"}));
}

}  // namespace
}  // namespace dllaunch
