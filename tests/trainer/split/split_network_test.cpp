#include "trainer/split/split_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/backends/compiled.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<SplitPart> parts_of(const Graph& graph, const std::vector<std::string>& layers,
                                int rank = 0, int ranks = 2) {
  auto parts = split_network(graph, layers, rank, ranks);
  EXPECT_TRUE(parts) << parts.error().what;
  return parts ? *std::move(parts) : std::vector<SplitPart>();
}

/// "input fc1 relu1 |2" of a part that has 2 units.
std::vector<std::string> outline(const std::vector<SplitPart>& parts) {
  std::vector<std::string> lines;
  for (const SplitPart& part : parts) {
    std::string line;
    for (const Node& node : part.graph.nodes) line += node.name + " ";
    if (part.rows) line += "|" + std::to_string(part.graph.nodes.back().shape.back());
    lines.push_back(line);
  }
  return lines;
}

TEST(SplitNetwork, ALayerAndItsActivationAreAPart) {
  const Graph mlp = graph_of("mlp");
  const auto parts = parts_of(mlp, {"fc1"});
  EXPECT_THAT(outline(parts), ElementsAre("input flatten ", "input fc1 relu1 |256",
                                          "input drop1 fc2 relu2 drop2 fc3 "));
  const Graph& layer = parts[1].graph;
  EXPECT_EQ(std::get<Dense>(layer.nodes[1].op).units, 256);
  EXPECT_EQ(layer.parameters[0].name, "fc1.weight");
  EXPECT_EQ(layer.parameters[0].shape, (Shape{256, 784}));
  EXPECT_EQ(layer.parameters[0].fan_out, 512);
  EXPECT_EQ(layer.parameters[1].shape, Shape{256});
  EXPECT_TRUE(layer.joints.output);
  EXPECT_TRUE(parts[2].graph.joints.input);
  EXPECT_FALSE(parts[2].graph.joints.output);
}

TEST(SplitNetwork, WhatWaitsBetweenThePartsIsCounted) {
  const auto parts = parts_of(graph_of("mlp"), {"fc1"});
  constexpr std::int64_t own = 8;
  constexpr std::int64_t all = 16;
  const std::int64_t outputs = own * (784 + 512);
  const std::int64_t inputs_and_gradients_of_all = all * (784 + 784);
  const std::int64_t wire = all * 784;
  const std::int64_t columns_and_gradient = own * (784 + 784);
  EXPECT_EQ(exchange_bytes(parts, 8, 2),
            4 * (outputs + inputs_and_gradients_of_all + wire + columns_and_gradient));
  EXPECT_EQ(exchange_bytes(parts, 8, 2, DType::f64), 2 * exchange_bytes(parts, 8, 2));
  EXPECT_EQ(exchange_bytes(parts_of(graph_of("mlp"), {}), 8, 2), 0);
}

TEST(SplitNetwork, LayersFollowEachOtherToTheLoss) {
  const auto parts = parts_of(graph_of("lenet"), {"fc3", "fc1", "fc2"});
  EXPECT_THAT(outline(parts), ElementsAre("input conv1 tanh1 pool1 conv2 tanh2 pool2 flatten ",
                                          "input fc1 tanh3 |60", "input fc2 tanh4 |42",
                                          "input fc3 |5", "input logits "));
  EXPECT_TRUE(parts[3].graph.joints.output);
}

TEST(SplitNetwork, ALayerMayReadTheInput) {
  GraphBuilder net("m", {6});
  net.add("fc1", Dense{.units = 4});
  net.add("fc2", Dense{.units = 3});
  const auto parts = parts_of(*std::move(net).finish(), {"fc1"});
  EXPECT_THAT(outline(parts), ElementsAre("input fc1 |2", "input fc2 "));
  EXPECT_FALSE(parts[0].graph.joints.input);
}

TEST(SplitNetwork, RanksDifferByAUnit) {
  std::int64_t next = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const auto parts = parts_of(graph_of("lenet"), {"fc3"}, rank, 3);
    const SlotRows rows = *parts[1].rows;
    EXPECT_EQ(rows.first, next);
    EXPECT_EQ(rows.all, 10);
    EXPECT_TRUE(rows.count == 3 || rows.count == 4);
    EXPECT_EQ(parts[1].graph.parameters[0].shape.front(), 4);
    next += rows.count;
  }
  EXPECT_EQ(next, 10);
}

TEST(SplitNetwork, NothingReachesWhatIsFrozen) {
  Graph lenet = graph_of("lenet");
  for (Parameter& parameter : lenet.parameters) {
    parameter.frozen = parameter.name.starts_with("conv") || parameter.name.starts_with("fc1");
  }
  const auto parts = parts_of(lenet, {"fc1", "fc2"});
  EXPECT_EQ(first_trained(parts), 2);
  EXPECT_FALSE(parts[1].graph.joints.input);
  EXPECT_FALSE(parts[2].graph.joints.input);
  EXPECT_TRUE(parts[3].graph.joints.input);
}

TEST(SplitNetwork, SaysWhatCannotBeSplit) {
  const auto refused = [](const Graph& graph, const std::string& layer, int ranks = 2) {
    const std::vector<std::string> layers{layer};
    const auto parts = split_network(graph, layers, 0, ranks);
    EXPECT_FALSE(parts) << layer;
    return parts ? Error{} : parts.error();
  };
  const Error unknown = refused(graph_of("lenet"), "fc9");
  EXPECT_EQ(unknown.what, "runtime.split_dense: model lenet has no dense layer fc9");
  EXPECT_EQ(unknown.hint, "its dense layers: fc1, fc2, fc3");
  EXPECT_THAT(refused(graph_of("lenet"), "conv1").what, HasSubstr("no dense layer conv1"));
  EXPECT_EQ(refused(graph_of("lenet"), "fc3", 11).what,
            "runtime.split_dense: fc3 has 10 columns for 11 ranks");
  const Graph gpt2 = graph_of("gpt2-tiny");
  for (const Node& node : gpt2.nodes) {
    if (std::holds_alternative<Dense>(node.op)) {
      EXPECT_EQ(refused(gpt2, node.name).kind, ErrorKind::bad_request);
    }
  }
}

}  // namespace
}  // namespace dllaunch
