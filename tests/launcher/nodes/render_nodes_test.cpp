#include "launcher/nodes/render_nodes.hpp"

#include <gtest/gtest.h>

#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

constexpr double shown_at = 1'800'000'000;

std::vector<NodeJudgement> three() {
  return {{.cluster = "c",
           .node = "n2",
           .grade = NodeGrade::avoid,
           .score = 1.5,
           .why = "others waited for it 30 % of their training, last 2 days ago",
           .seen_s = shown_at - 2 * day_s,
           .used_s = 7300},
          {.cluster = "c",
           .node = "n7",
           .grade = NodeGrade::watch,
           .score = 0.6,
           .why = "1 failure, the last 4 hours ago: Slurm lost it",
           .seen_s = shown_at - 4 * 3600,
           .used_s = 360'000},
          {.cluster = "c", .node = "n1", .seen_s = shown_at - 40, .used_s = 59}};
}

TEST(RenderNodes, TheWorstFirstWithTheReason) {
  EXPECT_TRUE(matches_golden("launcher/nodes.txt", render_nodes(three(), shown_at, 20)));
}

TEST(RenderNodes, ManyGoodOnesAreCounted) {
  const auto text = render_nodes(three(), shown_at, 0);
  EXPECT_EQ(text.find("n1 "), std::string::npos);
  EXPECT_NE(text.find("3 nodes: 1 to avoid, 1 to watch, 1 good"), std::string::npos);
}

TEST(RenderNodes, ClustersAreNamedWhereThereAreSeveral) {
  auto nodes = three();
  nodes[1].cluster = "d";
  EXPECT_NE(render_nodes(nodes, shown_at, 20).find("CLUSTER"), std::string::npos);
}

TEST(RenderNodes, LessThanAnHourIsInMinutes) {
  auto nodes = three();
  nodes[2].used_s = 3599;
  EXPECT_NE(render_nodes(nodes, shown_at, 20).find("59 min"), std::string::npos);
}

TEST(RenderNodes, ForPrograms) {
  const auto document = to_json(three());
  EXPECT_EQ(document[0]["node"], "n2");
  EXPECT_EQ(document[0]["judgement"], "avoid");
  EXPECT_EQ(document[2]["judgement"], "good");
}

}  // namespace
}  // namespace dllaunch
