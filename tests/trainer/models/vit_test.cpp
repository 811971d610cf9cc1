#include "trainer/models/vit.hpp"
#include "trainer/models/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dllaunch {

extern const ModelEntry vit_model;
extern const ModelEntry vit_tiny_model;

namespace {

TEST(VitModel, HasTorchvisionsNamesAndShapes) {
  const auto graph = vit_model.build({3, 224, 224}, 1000);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->parameter_count(), 86567656);
  EXPECT_EQ(graph->labels(), 1);
  const auto shape_of = [&](const std::string& name) {
    const auto found = std::ranges::find(graph->parameters, name, &Parameter::name);
    return found == graph->parameters.end() ? Shape{} : found->shape;
  };
  EXPECT_EQ(graph->parameters.size(), 4U + 12 * 12 + 4);
  EXPECT_EQ(shape_of("class_token"), (Shape{1, 1, 768}));
  EXPECT_EQ(shape_of("conv_proj.weight"), (Shape{768, 3, 16, 16}));
  EXPECT_EQ(shape_of("encoder.pos_embedding"), (Shape{1, 197, 768}));
  const std::string layer = "encoder.layers.encoder_layer_11.";
  EXPECT_EQ(shape_of(layer + "ln_1.weight"), (Shape{768}));
  EXPECT_EQ(shape_of(layer + "self_attention.in_proj_weight"), (Shape{2304, 768}));
  EXPECT_EQ(shape_of(layer + "self_attention.in_proj_bias"), (Shape{2304}));
  EXPECT_EQ(shape_of(layer + "self_attention.out_proj.weight"), (Shape{768, 768}));
  EXPECT_EQ(shape_of(layer + "mlp.0.weight"), (Shape{3072, 768}));
  EXPECT_EQ(shape_of(layer + "mlp.3.bias"), (Shape{768}));
  EXPECT_EQ(shape_of("encoder.ln.bias"), (Shape{768}));
  EXPECT_EQ(shape_of("heads.head.weight"), (Shape{1000, 768}));
}

TEST(VitModel, NeedsImagesOfWholePatches) {
  const auto graph = vit_model.build({3, 224, 100}, 10);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().what, "model vit cuts images into squares of 16 pixels, got 224x100");
  EXPECT_TRUE(vit_tiny_model.build({1, 28, 28}, 10));
}

}  // namespace
}  // namespace dllaunch
