// Attention in a whole executable: scores that 16 bits do not hold, and memory. Gradients are
// compared with `reference` in backend_test.cpp.
#include "trainer/backends/gpu/layers/attention_layers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/backends/compiled.hpp"

namespace dllaunch::gpu {
namespace {

constexpr int batch = 2;

Graph attention(std::int64_t tokens, int layers, bool causal = true) {
  GraphBuilder net("m", {tokens});
  net.add("words", Embedding{.vocabulary = 7, .width = 16});
  for (int layer = 0; layer < layers; ++layer) {
    const std::string number = std::to_string(layer);
    net.add("joint" + number, Dense{.units = 48});
    net.add("attention" + number, Attention{.heads = 4, .causal = causal});
  }
  net.add("fc", Dense{.units = 3});
  return *std::move(net).finish();
}

/// Products of queries and keys are above fp16's 65,504, and differ by less than bf16 rounds.
TEST(AttentionLayers, ScoresAreFloats) {
  GraphBuilder net("m", {6});
  net.add("words", Embedding{.vocabulary = 7, .width = 12});
  net.add("attention", Attention{.heads = 1});
  const Graph graph = *std::move(net).finish();
  const Images images(graph, batch);
  Tensors weights = random_weights(graph);
  for (double& value : weights[0]) value = 2 * std::round(150 + 4 * value);  // all exact
  const auto logits = [&](std::string_view backend, Precision precision) {
    Compiled compiled(backend_named(backend), graph, {.batch = batch, .precision = precision});
    compiled.set_weights(weights);
    compiled->forward(images.batch(), Phase::train);
    return compiled->logits();
  };
  const auto wanted = logits("reference", Precision::fp32);
  EXPECT_LT(relative_error(logits("host_gpu", Precision::fp32), wanted), 1e-6);
  EXPECT_LT(relative_error(logits("host_gpu", Precision::fp16), wanted), 1e-3);
  EXPECT_LT(relative_error(logits("host_gpu", Precision::bf16), wanted), 1e-2);
}

/// A token that none before sees changes nothing, whatever the alignment of rows.
TEST(AttentionLayers, CausalRowsSeeNoLaterToken) {
  for (const std::int64_t tokens : {8, 9}) {
    const Graph graph = attention(tokens, 1);
    Images images(graph, 1);
    Compiled compiled(backend_named("host_gpu"), graph, {.batch = 1});
    compiled.set_weights(random_weights(graph));
    compiled->forward(images.batch(), Phase::evaluate);
    const auto before = compiled->logits();
    images.pixels.back() = images.pixels.back() > 0 ? 0.F : 1.F;
    compiled->forward(images.batch(), Phase::evaluate);
    const auto after = compiled->logits();
    const auto seen = static_cast<std::ptrdiff_t>(3 * (tokens - 1));
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + seen, after.begin()));
    EXPECT_FALSE(std::equal(before.begin() + seen, before.end(), after.begin() + seen));
  }
}

/// Weights of [samples, heads, tokens, tokens] are in memory for one layer at a time.
TEST(AttentionLayers, WeightsOfMoreLayersTakeNoMoreMemory) {
  const auto bytes = [](int layers) {
    const std::size_t before = host_gpus().in_use[0];
    const auto backend = *backend_named("host_gpu").open();
    const auto executable = *backend->compile(attention(128, layers), {.batch = batch});
    return host_gpus().in_use[0] - before;
  };
  constexpr std::size_t scores = std::size_t{batch} * 4 * 128 * 128 * sizeof(float);
  const std::size_t one = bytes(1);
  EXPECT_GT(one, 2 * scores) << "scores and weights";
  EXPECT_LT(bytes(4), one + scores);
}

}  // namespace
}  // namespace dllaunch::gpu
