#include "trainer/models/gpt2.hpp"
#include "trainer/models/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "trainer/graph/initial_weights.hpp"

namespace dllaunch {

extern const ModelEntry gpt2_model;
extern const ModelEntry gpt2_mini_model;
extern const ModelEntry gpt2_tiny_model;

namespace {

Graph built(const ModelEntry& model, int tokens, int vocabulary) {
  auto graph = model.build({.channels = 1, .height = 1, .width = tokens}, vocabulary);
  EXPECT_TRUE(graph) << graph.error().what;
  return *std::move(graph);
}

TEST(Gpt2Model, HasTheNumberOfParametersOfTheCheckpoint) {
  EXPECT_EQ(built(gpt2_model, 1024, 50257).parameter_count(), 124439808);
  EXPECT_EQ(built(gpt2_model, 16, 50257).parameter_count(), 124439808) << "for shorter texts too";
  EXPECT_EQ(built(gpt2_mini_model, 256, 65).parameter_count(), 10770816);
  EXPECT_EQ(built(gpt2_tiny_model, 16, 50).parameter_count(), 29120);
}

TEST(Gpt2Model, HasHuggingFacesNamesAndShapes) {
  const Graph graph = built(gpt2_model, 1024, 50257);
  const auto shape_of = [&](const std::string& name) {
    const auto found = std::ranges::find(graph.parameters, name, &Parameter::name);
    return found == graph.parameters.end() ? Shape{} : found->shape;
  };
  EXPECT_EQ(graph.parameters.size(), 2U + 12 * 12 + 2);
  EXPECT_EQ(shape_of("transformer.wte.weight"), (Shape{50257, 768}));
  EXPECT_EQ(shape_of("transformer.wpe.weight"), (Shape{1024, 768}));
  EXPECT_EQ(shape_of("transformer.h.0.ln_1.weight"), (Shape{768}));
  EXPECT_EQ(shape_of("transformer.h.0.attn.c_attn.weight"), (Shape{768, 2304})) << "in, out";
  EXPECT_EQ(shape_of("transformer.h.0.attn.c_attn.bias"), (Shape{2304}));
  EXPECT_EQ(shape_of("transformer.h.11.attn.c_proj.weight"), (Shape{768, 768}));
  EXPECT_EQ(shape_of("transformer.h.11.ln_2.bias"), (Shape{768}));
  EXPECT_EQ(shape_of("transformer.h.11.mlp.c_fc.weight"), (Shape{768, 3072}));
  EXPECT_EQ(shape_of("transformer.h.11.mlp.c_proj.weight"), (Shape{3072, 768}));
  EXPECT_EQ(shape_of("transformer.ln_f.bias"), (Shape{768}));
  EXPECT_EQ(shape_of("lm_head.weight"), Shape{}) << "it is transformer.wte.weight";
}

TEST(Gpt2Model, HasALabelForEachToken) {
  const Graph graph = built(gpt2_tiny_model, 16, 50);
  EXPECT_EQ(graph.input_shape(), Shape{16});
  EXPECT_EQ(graph.classes(), 50);
  EXPECT_EQ(graph.labels(), 16);
}

TEST(Gpt2Model, StartsAsGpt2) {
  const Graph graph = built(gpt2_tiny_model, 16, 500);
  for (const Parameter& parameter : graph.parameters) {
    if (parameter.shape.size() == 1) continue;
    const bool into_residual = parameter.name.ends_with("c_proj.weight");
    double squares = 0;
    for (const double value : initial_weights(1, parameter)) squares += value * value;
    const auto count = static_cast<double>(elements_of(parameter.shape));
    EXPECT_NEAR(std::sqrt(squares / count), into_residual ? 0.01 : 0.02, 0.001) << parameter.name;
  }
}

TEST(Gpt2Model, RefusesWhatItCannotRead) {
  const auto image = gpt2_tiny_model.build({1, 28, 28}, 10);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().what, "model gpt2-tiny reads tokens, not images");
  const auto longer = gpt2_tiny_model.build({1, 1, 65}, 10);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().what,
            "model gpt2-tiny: transformer.wpe has 64 positions, got 65 tokens");
}

}  // namespace
}  // namespace dllaunch
