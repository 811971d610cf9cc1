#include <gtest/gtest.h>

#include <algorithm>

#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry resnet50_model;

namespace {

Graph resnet50(int size, int classes) {
  auto graph = resnet50_model.build({3, size, size}, classes);
  EXPECT_TRUE(graph) << graph.error().what;
  return *std::move(graph);
}

const Node& node_of(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &Node::name);
  EXPECT_NE(found, graph.nodes.end()) << name;
  return *found;
}

TEST(ResNet50Model, HasTorchvisionsNumberOfParameters) {
  EXPECT_EQ(resnet50(224, 1000).parameter_count(), 25557032);
  EXPECT_EQ(resnet50(128, 10).parameter_count(), 23528522);
}

TEST(ResNet50Model, HasThePapersShapes) {
  const Graph graph = resnet50(224, 1000);
  EXPECT_EQ(node_of(graph, "conv1").shape, (Shape{64, 112, 112}));
  EXPECT_EQ(node_of(graph, "maxpool").shape, (Shape{64, 56, 56}));
  EXPECT_EQ(node_of(graph, "layer1.2.relu3").shape, (Shape{256, 56, 56}));
  EXPECT_EQ(node_of(graph, "layer2.3.relu3").shape, (Shape{512, 28, 28}));
  EXPECT_EQ(node_of(graph, "layer3.5.relu3").shape, (Shape{1024, 14, 14}));
  EXPECT_EQ(node_of(graph, "layer4.2.relu3").shape, (Shape{2048, 7, 7}));
  EXPECT_EQ(node_of(graph, "avgpool").shape, (Shape{2048}));
  EXPECT_EQ(node_of(graph, "fc").shape, (Shape{1000}));
}

TEST(ResNet50Model, StridesInTheSecondConvolutionOfABlock) {
  const Graph graph = resnet50(224, 1000);
  for (const std::string layer : {"layer2", "layer3", "layer4"}) {
    EXPECT_EQ(std::get<Conv2d>(node_of(graph, layer + ".0.conv1").op).stride, 1);
    EXPECT_EQ(std::get<Conv2d>(node_of(graph, layer + ".0.conv2").op).stride, 2);
    EXPECT_EQ(std::get<Conv2d>(node_of(graph, layer + ".0.downsample.0").op).stride, 2);
  }
  EXPECT_EQ(std::get<Conv2d>(node_of(graph, "layer1.0.downsample.0").op).stride, 1);
}

TEST(ResNet50Model, HasTorchvisionsNames) {
  const Graph graph = resnet50(128, 10);
  EXPECT_EQ(graph.parameters.size(), 161u);
  EXPECT_EQ(graph.buffers.size(), 53u * 3);
  const auto has = [&](const std::string& name) {
    return std::ranges::count(graph.parameters, name, &Parameter::name) +
           std::ranges::count(graph.buffers, name, &Buffer::name);
  };
  for (const char* name :
       {"conv1.weight", "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var",
        "bn1.num_batches_tracked", "layer1.0.conv1.weight", "layer1.0.downsample.0.weight",
        "layer1.0.downsample.1.running_var", "layer4.2.bn3.bias", "fc.weight", "fc.bias"}) {
    EXPECT_EQ(has(name), 1) << name;
  }
  EXPECT_EQ(has("conv1.bias"), 0);
}

}  // namespace
}  // namespace dllaunch
