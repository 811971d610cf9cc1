#include <gtest/gtest.h>

#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry alexnet_bn_model;

namespace {

TEST(AlexNetBnModel, HasThePapersShapes) {
  const auto graph = alexnet_bn_model.build({3, 227, 227}, 1000);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->parameter_count(), 62379720);
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const Node& node : graph->nodes) shapes.emplace_back(node.name, node.shape);
  const Shape first{96, 55, 55};
  const Shape second{256, 27, 27};
  const Shape third{384, 13, 13};
  const Shape fifth{256, 13, 13};
  EXPECT_EQ(
      shapes,
      (std::vector<std::pair<std::string, Shape>>{
          {"input", {3, 227, 227}}, {"conv1", first},  {"bn1", first},         {"relu1", first},
          {"pool1", {96, 27, 27}},  {"conv2", second}, {"bn2", second},        {"relu2", second},
          {"pool2", {256, 13, 13}}, {"conv3", third},  {"bn3", third},         {"relu3", third},
          {"conv4", third},         {"bn4", third},    {"relu4", third},       {"conv5", fifth},
          {"bn5", fifth},           {"relu5", fifth},  {"pool5", {256, 6, 6}}, {"flatten", {9216}},
          {"fc6", {4096}},          {"relu6", {4096}}, {"drop6", {4096}},      {"fc7", {4096}},
          {"relu7", {4096}},        {"drop7", {4096}}, {"fc8", {1000}}}));
}

TEST(AlexNetBnModel, RejectsImagesThatAreTooSmall) {
  const auto graph = alexnet_bn_model.build({3, 32, 32}, 10);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().what, "model alexnet_bn: pool2 needs at least 3x3 pixels, got [256,2,2]");
}

}  // namespace
}  // namespace dllaunch
