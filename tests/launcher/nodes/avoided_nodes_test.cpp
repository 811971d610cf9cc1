#include "launcher/nodes/avoided_nodes.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeJudgement bad(const std::string& node, double score = 2) {
  return {.cluster = "c", .node = node, .grade = NodeGrade::avoid, .score = score, .why = "slow"};
}
std::vector<std::string> partition_of(int nodes) {
  std::vector<std::string> all;
  for (int i = 1; i <= nodes; ++i) all.push_back(fmt::format("n{}", i));
  return all;
}

TEST(AvoidedNodes, AtMostATenthButAlwaysOne) {
  std::vector<NodeJudgement> judged;
  for (int i = 1; i <= 30; ++i) judged.push_back(bad(fmt::format("n{}", i)));
  for (const auto& [nodes, most] :
       {std::pair(2, 1), std::pair(9, 1), std::pair(19, 1), std::pair(20, 2), std::pair(100, 10)}) {
    const auto avoided = choose_avoided(judged, {"auto"}, "c", partition_of(nodes), 1);
    EXPECT_EQ(avoided.nodes.size(), static_cast<std::size_t>(most)) << nodes;
  }
}

TEST(AvoidedNodes, SaysWhatItDoesAndWhatNot) {
  const auto avoided = choose_avoided({bad("n2"), bad("n3", 1)}, {"auto"}, "c", partition_of(3), 1);
  EXPECT_THAT(avoided.nodes, ElementsAre("n2"));
  EXPECT_THAT(avoided.notes,
              ElementsAre("avoids n2: slow", "does not avoid n3: at most 1 of the 3 nodes"));
}

TEST(AvoidedNodes, EnoughAreLeftForTheJob) {
  const auto avoided = choose_avoided({bad("n2")}, {"auto"}, "c", partition_of(3), 3);
  EXPECT_THAT(avoided.nodes, IsEmpty());
  EXPECT_THAT(avoided.notes, ElementsAre("does not avoid n2: the job needs 3 of the 3 nodes"));
  const auto named = choose_avoided({}, {"n1", "n2"}, "c", partition_of(3), 2);
  EXPECT_THAT(named.nodes, ElementsAre("n1"));
}

TEST(AvoidedNodes, NodesThatTheUserNamesAreNoShare) {
  const auto avoided = choose_avoided({bad("n9")}, {"n[1,3]", "x"}, "c", partition_of(9), 1);
  EXPECT_THAT(avoided.nodes, ElementsAre("n1", "n3"));
  EXPECT_EQ(avoided.notes.front(), "avoids n1: as the job file says");
}

TEST(AvoidedNodes, OnlyThoseJudgedSoInThisPartition) {
  auto watched = bad("n1");
  watched.grade = NodeGrade::watch;
  auto elsewhere = bad("n2");
  elsewhere.cluster = "d";
  EXPECT_THAT(
      choose_avoided({watched, elsewhere, bad("x")}, {"auto"}, "c", partition_of(9), 1).nodes,
      IsEmpty());
  EXPECT_THAT(choose_avoided({bad("n1")}, {}, "c", partition_of(9), 1).nodes, IsEmpty());
}

TEST(AvoidedNodes, SparesAreTheWorstOnes) {
  EXPECT_THAT(worst_first({bad("n3"), bad("x"), bad("n1")}, {"auto"}, "c", {"n1", "n2", "n3"}),
              ElementsAre("n3", "n1"));
}

}  // namespace
}  // namespace dllaunch
