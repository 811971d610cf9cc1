#include "trainer/models/resnet_v2.hpp"
#include "trainer/models/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dllaunch {

extern const ModelEntry resnet50v2_model;
extern const ModelEntry resnet152v2_model;

namespace {

/// Keras's count includes the running means and variances.
std::int64_t with_buffers(const Graph& graph) {
  std::int64_t count = graph.parameter_count();
  for (const Buffer& buffer : graph.buffers) {
    if (buffer.type == DType::f32) count += elements_of(buffer.shape);
  }
  return count;
}

Graph built(const ModelEntry& model, int size = 128, int classes = 10) {
  auto graph = model.build({3, size, size}, classes);
  EXPECT_TRUE(graph) << graph.error().what;
  return *std::move(graph);
}

const Shape& shape_of(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &Node::name);
  EXPECT_NE(found, graph.nodes.end()) << name;
  return found->shape;
}

TEST(ResNetV2Model, HasKerasNumbersOfParameters) {
  EXPECT_EQ(with_buffers(built(resnet50v2_model)), 23585290);
  EXPECT_EQ(with_buffers(built(resnet152v2_model)), 58352138);
  EXPECT_EQ(with_buffers(built(resnet50v2_model, 224, 1000)), 25613800);
  EXPECT_EQ(with_buffers(built(resnet152v2_model, 224, 1000)), 60380648);
}

TEST(ResNetV2Model, HasKerasShapes) {
  const Graph graph = built(resnet50v2_model, 224, 1000);
  EXPECT_EQ(shape_of(graph, "conv1_conv"), (Shape{64, 112, 112}));
  EXPECT_EQ(shape_of(graph, "pool1_pad"), (Shape{64, 114, 114}));
  EXPECT_EQ(shape_of(graph, "pool1_pool"), (Shape{64, 56, 56}));
  EXPECT_EQ(shape_of(graph, "conv2_block2_out"), (Shape{256, 56, 56}));
  EXPECT_EQ(shape_of(graph, "conv2_block3_out"), (Shape{256, 28, 28})) << "the last one strides";
  EXPECT_EQ(shape_of(graph, "conv3_block4_out"), (Shape{512, 14, 14}));
  EXPECT_EQ(shape_of(graph, "conv4_block6_out"), (Shape{1024, 7, 7}));
  EXPECT_EQ(shape_of(graph, "conv5_block3_out"), (Shape{2048, 7, 7}));
  EXPECT_EQ(shape_of(graph, "avg_pool"), (Shape{2048}));
}

TEST(ResNetV2Model, NormalisesAsKeras) {
  for (const Node& node : built(resnet50v2_model).nodes) {
    const auto* norm = std::get_if<BatchNorm>(&node.op);
    if (norm == nullptr) continue;
    EXPECT_EQ(norm->eps, 1.001e-5);
    EXPECT_EQ(norm->momentum, 0.01) << "Keras's 0.99 is the weight of the old value";
  }
}

}  // namespace
}  // namespace dllaunch
