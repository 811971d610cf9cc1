#include <gtest/gtest.h>

#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry mlp_model;

namespace {

TEST(MlpModel, HasKerassShapes) {
  const auto graph = mlp_model.build({1, 28, 28}, 10);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->parameter_count(), 669706);
  std::vector<Shape> shapes;
  for (const Node& node : graph->nodes) shapes.push_back(node.shape);
  EXPECT_EQ(shapes, (std::vector<Shape>{
                        {1, 28, 28}, {784}, {512}, {512}, {512}, {512}, {512}, {512}, {10}}));
  EXPECT_EQ(std::get<Dropout>(graph->nodes[4].op).rate, 0.2);
  EXPECT_EQ(std::get<Dropout>(graph->nodes[7].op).rate, 0.2);
}

}  // namespace
}  // namespace dllaunch
