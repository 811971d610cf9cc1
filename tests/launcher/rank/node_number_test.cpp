#include "launcher/rank/node_number.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::optional<NumberedNode> number(const RankEnv& rank, const std::string& order,
                                   const std::string& host,
                                   const std::string& distribution = "arbitrary") {
  return number_node(rank,
                     [&](const std::string& name) {
                       return name == "DLLAUNCH_NODE_ORDER" ? std::optional(order)
                              : name == "SLURM_DISTRIBUTION"
                                  ? std::optional<std::string>(distribution)
                                  : std::nullopt;
                     },
                     {host, host + ".cluster"});
}

constexpr auto slurm = "slurm";

TEST(NodeNumber, FollowsTheOrderOfTheRanks) {
  RankEnv rank{.rank = 3, .world_size = 4, .local_rank = 1, .local_world_size = 2, .node_rank = 0};
  rank.launcher = slurm;
  const auto node = number(rank, "n[3,1]", "n1");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->node_rank, 1);
  EXPECT_EQ(node->nodes, 2);
  EXPECT_THAT(node->variables,
              ElementsAre(Pair("SLURM_NODEID", "1"), Pair("SLURM_STEP_NODELIST", "n[3,1]")));
  rank.launcher = "openmpi";
  EXPECT_THAT(number(rank, "n[3,1]", "n1")->variables, IsEmpty());
}

TEST(NodeNumber, StaysWhereTheStarterDidNotFollow) {
  const RankEnv rank{
      .rank = 3, .world_size = 4, .local_rank = 1, .local_world_size = 2, .launcher = slurm};
  for (const char* order : {"", "n[3,1", "n[1,3]", "n[3,1,2]", "n1", "n[3,1],n1"})
    EXPECT_FALSE(number(rank, order, "n1")) << order;
  // All ranks of a step see that; not all would see that their own host is another one.
  EXPECT_FALSE(number(rank, "n[3,1]", "n1", "cyclic"));
  EXPECT_FALSE(number(rank, "n[3,1]", "n1", ""));
}

}  // namespace
}  // namespace dllaunch
