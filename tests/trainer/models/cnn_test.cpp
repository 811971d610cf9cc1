#include <gtest/gtest.h>

#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry cnn_model;

namespace {

TEST(CnnModel, HasKerasShapes) {
  const auto graph = cnn_model.build({1, 28, 28}, 10);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->parameter_count(), 1199882);
  std::vector<Shape> shapes;
  for (const Node& node : graph->nodes) shapes.push_back(node.shape);
  EXPECT_EQ(shapes, (std::vector<Shape>{{1, 28, 28},
                                        {32, 26, 26},
                                        {32, 26, 26},
                                        {64, 24, 24},
                                        {64, 24, 24},
                                        {64, 12, 12},
                                        {9216},
                                        {128},
                                        {128},
                                        {10}}));
}

TEST(CnnModel, NamesParametersLikePyTorch) {
  const auto graph = cnn_model.build({1, 28, 28}, 10);
  ASSERT_TRUE(graph);
  std::vector<std::string> names;
  for (const Parameter& parameter : graph->parameters) names.push_back(parameter.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                      "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
}

TEST(CnnModel, RejectsImagesThatAreTooSmall) {
  const auto graph = cnn_model.build({3, 5, 5}, 10);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().what, "model cnn: pool needs at least 2x2 pixels, got [64,1,1]");
}

}  // namespace
}  // namespace dllaunch
