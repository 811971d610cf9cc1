#include "trainer/backends/gpu/plan/step_plan.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/operation_cases.hpp"

namespace dllaunch::gpu {
namespace {

Graph case_named(std::string_view name) {
  for (const OperationCase& one : operation_cases()) {
    if (one.name == name) return one.graph();
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

std::vector<int> absorbed_in(const StepPlan& plan) {
  std::vector<int> absorbed;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    if (plan.nodes[n].absorbed) absorbed.push_back(static_cast<int>(n));
  }
  return absorbed;
}

/// The place of a window's largest element is stored in 16 bits.
TEST(StepPlan, AMaxPoolingOfTooManyElementsIsRefused) {
  const auto pooled = [](const auto& pool, const Shape& image) {
    GraphBuilder net("m", image);
    net.add("pool", pool);
    net.add("flatten", Flatten{});
    return *std::move(net).finish();
  };
  EXPECT_FALSE(graph_error(pooled(MaxPool2d{.kernel = 256, .stride = 256}, {1, 256, 256})));
  EXPECT_FALSE(graph_error(pooled(AvgPool2d{.kernel = 257, .stride = 257}, {1, 257, 257})));
  const auto error = graph_error(pooled(MaxPool2d{.kernel = 257, .stride = 257}, {1, 257, 257}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::bad_request);
  EXPECT_EQ(error->what,
            "pool: its window has 66049 elements; on GPUs max pooling has at most 65536");
}

/// Activations of 16 bits hold no ids; the input's are kept as floats.
TEST(StepPlan, AnEmbeddingOfAnotherNodeIsRefused) {
  EXPECT_FALSE(graph_error(case_named("block_of_gpt")));
  GraphBuilder net("m", {3});
  net.add("relu", Relu{});
  net.add("words", Embedding{.vocabulary = 5, .width = 2});
  const auto error = graph_error(*std::move(net).finish());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::bad_request);
  EXPECT_EQ(error->what, "words: on GPUs an embedding reads the network's input, not relu");
}

TEST(StepPlan, TokensAreRows) {
  const StepPlan plan = plan_steps(case_named("patches"), 5);
  EXPECT_EQ(plan.nodes[2].shape.rows, 5 * 6 * 6);
  EXPECT_EQ(plan.nodes[2].shape.elements(), plan.nodes[1].shape.elements());
  EXPECT_EQ(plan.nodes[3].shape.rows, 5 * 37);
  EXPECT_EQ(plan.nodes[3].shape.channels, 6);
  EXPECT_EQ(plan.nodes[5].shape.rows, 5);
}

TEST(StepPlan, ANormRunsWithTheReluBehindIt) {
  const StepPlan plan = plan_steps(case_named("batch_norm_relu"), 4);
  EXPECT_EQ(absorbed_in(plan), std::vector<int>{2});
  EXPECT_EQ(plan.nodes[3].norm, 2);
  EXPECT_EQ(plan.nodes[3].other, -1);
  EXPECT_TRUE(plan.nodes[3].relu);
  EXPECT_EQ(plan.values[2].last, -1) << "intermediate outputs are not stored";
}

TEST(StepPlan, AnAdditionBetweenThemRunsToo) {
  const StepPlan plan = plan_steps(case_named("block_with_projection"), 4);
  // conv, relu, conv, norm, projection, its norm, add, relu: fuses one of the two norms.
  EXPECT_EQ(absorbed_in(plan), (std::vector<int>{6, 7}));
  EXPECT_EQ(plan.nodes[8].norm, 6);
  EXPECT_EQ(plan.nodes[8].other, 4);
  EXPECT_EQ(plan.nodes[4].norm, 4) << "the other runs by itself";
  EXPECT_FALSE(plan.nodes[4].relu);
}

TEST(StepPlan, WhatIsReadTwiceStaysApart) {
  GraphBuilder net("m", {2, 4, 4});
  net.add("conv", Conv2d{.channels = 3, .kernel = 1});
  const int norm = net.add("norm", BatchNorm{});
  const int relu = net.add("relu", Relu{});
  net.add("add", Add{}, norm, relu);
  net.add("pool", GlobalAvgPool{});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  EXPECT_TRUE(absorbed_in(plan_steps(*graph, 2)).empty());
}

TEST(StepPlan, WhatNothingBeforeTrainsHasNoGradient) {
  Graph graph = case_named("two_readers");
  for (Parameter& parameter : graph.parameters) {
    parameter.frozen = parameter.name.starts_with("node1");
  }
  const StepPlan plan = plan_steps(graph, 2);
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const bool last = n + 1 == plan.nodes.size();
    EXPECT_EQ(plan.nodes[n].trains, last) << graph.nodes[n].name;
    EXPECT_EQ(plan.grads[n].first <= plan.grads[n].last, last) << graph.nodes[n].name;
  }
}

/// Every array is alive whenever a node that runs reads or writes it.
TEST(StepPlan, ArraysLiveAsLongAsTheyAreRead) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const StepPlan plan = plan_steps(graph, 3);
    const int count = static_cast<int>(graph.nodes.size());
    const auto lives = [](const Use& use, int step) {
      return use.first <= step && step <= use.last;
    };
    for (int n = 1; n < count; ++n) {
      const auto& node = plan.nodes[static_cast<std::size_t>(n)];
      if (node.absorbed) continue;
      const int backward = 2 * count - 1 - n;
      EXPECT_TRUE(lives(plan.values[static_cast<std::size_t>(n)], n));
      EXPECT_TRUE(!node.trains || lives(plan.grads[static_cast<std::size_t>(n)], backward));
      if (node.norm >= 0) continue;
      for (const int input : graph.nodes[static_cast<std::size_t>(n)].inputs) {
        const auto at = static_cast<std::size_t>(input);
        EXPECT_TRUE(lives(plan.values[at], n)) << input;
        EXPECT_TRUE(!plan.nodes[at].trains || lives(plan.grads[at], backward)) << input;
      }
    }
  }
}

TEST(StepPlan, ShapesHaveChannelsLast) {
  const StepPlan plan = plan_steps(case_named("conv3d"), 5);
  const Volume& image = plan.nodes[0].shape;
  EXPECT_EQ(image.rows, 5);
  EXPECT_EQ(image.channels, 2);
  EXPECT_EQ(image.depth, 5);
  EXPECT_EQ(image.height, 6);
  EXPECT_EQ(image.width, 7);
  EXPECT_EQ(plan.nodes.back().shape.pixels(), 1);
}

TEST(StepPlan, KeepsTheGradientOfAStagesInput) {
  Graph graph = graph_of("lenet");
  const auto has_gradient = [&] {
    const Use grad = plan_steps(graph, 2).grads[0];
    return grad.last >= grad.first;
  };
  EXPECT_FALSE(has_gradient());
  graph.joints.input = true;
  EXPECT_TRUE(has_gradient());
  EXPECT_FALSE(graph_error(graph));
}

}  // namespace
}  // namespace dllaunch::gpu
