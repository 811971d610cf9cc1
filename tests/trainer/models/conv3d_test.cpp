#include <gtest/gtest.h>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry conv3d_model;

namespace {

TEST(Conv3dModel, HasThePublishedLayers) {
  const auto graph = conv3d_model.build({.channels = 220, .height = 9, .width = 9}, 58);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->parameter_count(), 7809306);
  std::vector<Shape> shapes;
  for (const Node& node : graph->nodes) shapes.push_back(node.shape);
  EXPECT_EQ(shapes, (std::vector<Shape>{{1, 220, 9, 9},
                                        {48, 216, 7, 7},
                                        {48, 216, 7, 7},
                                        {32, 212, 5, 5},
                                        {32, 212, 5, 5},
                                        {32, 208, 3, 3},
                                        {32, 208, 3, 3},
                                        {59904},
                                        {128},
                                        {128},
                                        {128},
                                        {128},
                                        {58}}));
  EXPECT_EQ(graph->parameters[0].shape, (Shape{48, 1, 5, 3, 3}));
  EXPECT_EQ(conv3d_model.loss, "mean_squared_error");
}

TEST(Conv3dModel, RejectsCubesThatAreTooSmall) {
  const auto graph = conv3d_model.build({.channels = 12, .height = 9, .width = 9}, 2);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().what,
            "model conv3d: conv3 needs at least 5x3x3 elements (depth, height, width), got "
            "[32,4,5,5]");
}

TEST(Conv3dModel, EveryBackendAgreesWithReferenceInDouble) {
  const auto graph = conv3d_model.build({.channels = 20, .height = 9, .width = 9}, 10);
  ASSERT_TRUE(graph);
  // With seed 3 and 5 images one ReLU's input is so close to 0 that rounding decides its sign.
  const Images images(*graph, 3, /*seed=*/4);
  Compiled exact(backend_named("reference"), *graph, {.batch = 3, .precision = Precision::fp64});
  exact.set_weights(random_weights(*graph));
  exact->forward(images.batch(), Phase::train);
  exact->backward(0.2, false, [](int) {});
  for (const BackendEntry& backend : usable_backends()) {
    SCOPED_TRACE(backend.name);
    Compiled compiled(backend, *graph, {.batch = 3, .threads = 2});
    compiled.set_weights(random_weights(*graph));
    compiled->forward(images.batch(), Phase::train);
    compiled->backward(0.2, false, [](int) {});
    expect_close(*graph, compiled.gradients(), exact.gradients(), 1e-5);
  }
}

}  // namespace
}  // namespace dllaunch
