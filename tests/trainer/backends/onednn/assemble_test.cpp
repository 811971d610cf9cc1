#include "trainer/backends/onednn/assemble.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

TEST(OneDnnAssemble, RunsCnnInSixteenPieces) {
  EXPECT_EQ(
      onednn_work(graph_of(models()[1])),
      (std::vector<std::string>{
          "conv1 forward", "conv2 forward", "pool forward", "fc1 forward", "fc2 forward",
          "fc2 backward weights", "fc2 backward data", "relu3 backward", "fc1 backward weights",
          "fc1 backward data", "pool relu backward", "pool backward", "conv2 backward weights",
          "conv2 backward data", "relu1 backward", "conv1 backward weights"}));
}

TEST(OneDnnAssemble, GivesTheLossPlainLogits) {
  GraphBuilder net("m", {2, 5, 5});
  net.add("conv", Conv2d{.channels = 3, .kernel = 4});
  net.add("flatten", Flatten{});
  auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  onednn::Program program(dnnl::engine(dnnl::engine::kind::cpu, 0), graph->parameters.size());
  const onednn::Assembled assembled = onednn::assemble(*graph, 7, program);
  EXPECT_EQ(assembled.input.get_desc(), onednn::plain_layout({7, 2, 5, 5}));
  EXPECT_EQ(assembled.logits.get_desc(), onednn::plain_layout({7, 3, 2, 2}));
  EXPECT_EQ(assembled.slope.get_desc(), assembled.logits.get_desc());
  ASSERT_EQ(assembled.backward.size(), 1U);
  ASSERT_EQ(assembled.backward[0].slots.size(), 2U);
  EXPECT_EQ(assembled.backward[0].slots[1].slot, 1);
  EXPECT_EQ(assembled.backward[0].slots[1].parameter, 1);
}

}  // namespace
}  // namespace dllaunch
