// Layers of sequences in a whole executable: what backend_test.cpp's small cases do not show.
#include "trainer/backends/gpu/layers/token_layers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/operation_cases.hpp"

namespace dllaunch::gpu {
namespace {

constexpr int batch = 3;

Graph case_named(std::string_view name) {
  for (const OperationCase& one : operation_cases()) {
    if (one.name == name) return one.graph();
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

struct Step {
  double loss = 0;
  Tensors gradients = {};
};
Step step_of(const Graph& graph, const Images& images, std::string_view backend = "host_gpu",
             Precision precision = Precision::fp32) {
  Compiled compiled(backend_named(backend), graph, {.batch = batch, .precision = precision});
  compiled.set_weights(random_weights(graph));
  Step step{.loss = compiled->forward(images.batch(), Phase::train).loss_sum};
  compiled->backward(1, false, [](int) {});
  step.gradients = compiled.gradients();
  return step;
}

/// bf16 holds whole numbers up to 256, fp16 up to 2,048.
TEST(TokenLayers, HalvesTakeEveryId) {
  GraphBuilder net("m", {4});
  net.add("words", Embedding{.vocabulary = 50257, .width = 4});
  net.add("fc", Dense{.units = 3});
  const Graph graph = *std::move(net).finish();
  Images images(graph, batch);
  images.pixels = {0, 255, 256, 257, 2047, 2049, 50255, 50256, 50255, 257, 2049, 33333};
  const Step wanted = step_of(graph, images);
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const Step seen = step_of(graph, images, "host_gpu", precision);
    EXPECT_NEAR(seen.loss, wanted.loss, 0.01 * wanted.loss);
    expect_close(graph, seen.gradients, wanted.gradients, 0.02);
    for (std::size_t i = 0; i < wanted.gradients[0].size(); ++i) {
      EXPECT_EQ(seen.gradients[0][i] == 0, wanted.gradients[0][i] == 0) << "row " << i / 4;
    }
  }
}

/// All in one list, none twice, and lists whose first token is the last of a lane.
TEST(TokenLayers, RepeatedIdsAddUpInOrder) {
  GraphBuilder net("m", {200});
  net.add("words", Embedding{.vocabulary = 600, .width = 5});
  net.add("fc", Dense{.units = 3});
  const Graph graph = *std::move(net).finish();
  Images images(graph, batch);
  for (const int different : {1, 2, 37, 600}) {
    for (std::size_t i = 0; i < images.pixels.size(); ++i) {
      images.pixels[i] = static_cast<float>(i * 7 % static_cast<std::size_t>(different));
    }
    expect_close(graph, step_of(graph, images).gradients,
                 step_of(graph, images, "reference").gradients, 1e-5);
  }
}

/// What is frozen is not written; the gradients of the rest have the bits that they had.
TEST(TokenLayers, FrozenParametersChangeNoOthers) {
  for (const char* name : {"block_of_gpt", "patches", "class_token"}) {
    const Graph graph = case_named(name);
    const Images images(graph, batch);
    const Step all = step_of(graph, images);
    for (std::size_t first = 0; first < 2; ++first) {
      Graph some = graph;
      for (std::size_t p = first; p < some.parameters.size(); p += 2) {
        some.parameters[p].frozen = true;
      }
      const Step seen = step_of(some, images);
      EXPECT_EQ(seen.loss, all.loss);
      for (std::size_t p = 0; p < some.parameters.size(); ++p) {
        if (!some.parameters[p].frozen) {
          EXPECT_EQ(seen.gradients[p], all.gradients[p]) << some.parameters[p].name;
        }
      }
    }
  }
}

/// The last layer reads the embedding's weight: its gradient is the sum of both, frozen or not.
TEST(TokenLayers, ASharedWeightIsCopiedOnceAndHasOneGradient) {
  Graph graph = graph_of("gpt2-tiny");
  const Images images(graph, batch);
  const Step wanted = step_of(graph, images, "reference");
  expect_close(graph, step_of(graph, images).gradients, wanted.gradients, 1e-4);
  expect_close(graph, step_of(graph, images, "host_gpu", Precision::bf16).gradients,
               wanted.gradients, 0.1);
  graph.parameters[0].frozen = true;
  const Step frozen = step_of(graph, images);
  for (std::size_t p = 1; p < graph.parameters.size(); ++p) {
    EXPECT_LT(relative_error(frozen.gradients[p], wanted.gradients[p]), 1e-4);
  }
}

}  // namespace
}  // namespace dllaunch::gpu
