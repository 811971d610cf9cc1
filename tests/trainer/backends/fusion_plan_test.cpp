#include "trainer/backends/fusion_plan.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/backends/operation_cases.hpp"

namespace dllaunch {
namespace {

/// Returns {norm, add, other, relu} of each group in the named case.
std::vector<std::vector<int>> fused_in(std::string_view name) {
  std::vector<std::vector<int>> fused;
  for (const OperationCase& one : operation_cases()) {
    if (one.name != name) continue;
    const FusionPlan plan = plan_fusions(one.graph());
    for (const FusedNorm& of : plan.norms) {
      fused.push_back({of.norm, of.add, of.other, of.relu});
    }
  }
  return fused;
}

using Fused = std::vector<std::vector<int>>;

TEST(FusionPlan, ANormRunsAloneOrWithTheReluBehindIt) {
  EXPECT_EQ(fused_in("conv"), Fused{});
  EXPECT_EQ(fused_in("batch_norm"), (Fused{{2, -1, -1, -1}}));
  EXPECT_EQ(fused_in("batch_norm_relu"), (Fused{{2, -1, -1, 3}}));
  EXPECT_EQ(fused_in("batch_norm_17_channels"), (Fused{{2, -1, -1, -1}})) << "a tanh follows";
}

TEST(FusionPlan, AnAdditionRunsWithItsLaterNorm) {
  EXPECT_EQ(fused_in("block_with_projection"), (Fused{{4, -1, -1, -1}, {6, 7, 4, 8}}));
  EXPECT_EQ(fused_in("norm_added"), (Fused{{3, 4, 1, -1}})) << "no ReLU follows";
}

TEST(FusionPlan, NoOtherNodeLiesBetween) {
  EXPECT_EQ(fused_in("norm_added_far_behind"), (Fused{{2, -1, -1, -1}}));
}

TEST(FusionPlan, WhatIsReadTwiceStaysApart) {
  EXPECT_EQ(fused_in("norm_read_twice"), (Fused{{2, -1, -1, -1}}));
  EXPECT_EQ(fused_in("norm_added_to_itself"), (Fused{{2, -1, -1, -1}}));
}

TEST(FusionPlan, EveryNodeRunsOnceAndBehindWhatItReads) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const FusionPlan plan = plan_fusions(graph);
    for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
      const Node& node = graph.nodes[static_cast<std::size_t>(n)];
      const FusedNorm* fused = plan.of(n);
      EXPECT_EQ(plan.absorbed(n), fused != nullptr && fused->last() != n);
      if (std::holds_alternative<BatchNorm>(node.op)) {
        ASSERT_NE(fused, nullptr);
        EXPECT_EQ(fused->norm, n);
      }
      if (fused == nullptr) continue;
      EXPECT_TRUE(n == fused->norm || n == fused->add || n == fused->relu);
      EXPECT_LT(fused->other, fused->last());
      EXPECT_TRUE(fused->other < 0 || !plan.absorbed(fused->other)) << "its output is stored";
    }
  }
}

}  // namespace
}  // namespace dllaunch
