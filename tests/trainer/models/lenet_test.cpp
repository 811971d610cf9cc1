#include <gtest/gtest.h>

#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry lenet_model;

namespace {

TEST(LenetModel, HasTheKnownShapes) {
  const auto graph = lenet_model.build({1, 28, 28}, 10);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->parameter_count(), 61706);
  std::vector<Shape> shapes;
  for (const Node& node : graph->nodes) shapes.push_back(node.shape);
  EXPECT_EQ(shapes, (std::vector<Shape>{{1, 28, 28},
                                        {6, 28, 28},
                                        {6, 28, 28},
                                        {6, 14, 14},
                                        {16, 10, 10},
                                        {16, 10, 10},
                                        {16, 5, 5},
                                        {400},
                                        {120},
                                        {120},
                                        {84},
                                        {84},
                                        {10}}));
}

TEST(LenetModel, FitsOtherImagesAndClasses) {
  const auto graph = lenet_model.build({3, 32, 48}, 100);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->input_shape(), (Shape{3, 32, 48}));
  EXPECT_EQ(graph->classes(), 100);
}

TEST(LenetModel, RejectsImagesThatAreTooSmall) {
  const auto graph = lenet_model.build({1, 11, 28}, 10);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().what, "model lenet: pool2 needs at least 2x2 pixels, got [16,1,10]");
}

}  // namespace
}  // namespace dllaunch
