#include <gtest/gtest.h>

#include "trainer/models/models.hpp"
#include "trainer/models/resnet50.hpp"

namespace dllaunch {

extern const ModelEntry resnet50_model;
extern const ModelEntry resnet50_multispectral_model;

namespace {

TEST(ResNet50MultispectralModel, IsResNet50WithMoreBands) {
  const auto graph = resnet50_multispectral_model.build({12, 120, 120}, 43);
  const auto plain = resnet50_model.build({3, 120, 120}, 43);
  ASSERT_TRUE(graph && plain);
  EXPECT_EQ(graph->parameter_count(), 23624363);
  EXPECT_EQ(graph->model, "resnet50-multispectral");
  ASSERT_EQ(graph->nodes.size(), plain->nodes.size());
  for (std::size_t i = 1; i < graph->nodes.size(); ++i) {
    EXPECT_EQ(graph->nodes[i].name, plain->nodes[i].name);
    EXPECT_EQ(graph->nodes[i].shape, plain->nodes[i].shape) << graph->nodes[i].name;
  }
  EXPECT_EQ(graph->parameters[0].shape, (Shape{64, 12, 7, 7}));
  EXPECT_EQ(resnet50_multispectral_model.loss, "sigmoid_cross_entropy");
}

}  // namespace
}  // namespace dllaunch
