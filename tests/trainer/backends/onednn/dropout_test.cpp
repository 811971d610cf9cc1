// The mask equals that of `reference` in any layout.
#include <gtest/gtest.h>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/operation_cases.hpp"

namespace dllaunch {
namespace {

/// Returns which of `units` positive outputs are kept.
std::vector<bool> kept(std::string_view backend, const Graph& graph, Batch batch,
                       std::uint64_t key) {
  Compiled compiled(backend_named(backend), graph, {.batch = 5, .threads = 2});
  Tensors weights = random_weights(graph);
  for (double& bias : weights.back()) bias = 100;
  compiled.set_weights(weights);
  batch.random = key;
  compiled->forward(batch, Phase::train);
  std::vector<bool> left;
  for (const double output : compiled->logits()) left.push_back(output != 0);
  return left;
}

TEST(OneDnnDropout, DropsTheSameElementsAsReference) {
  const std::vector<OperationCase> cases = {
      {"vectors", {9}, {Dense{.units = 70}, Dropout{.rate = 0.3}}, 0},
      {"image", {2, 5, 5}, {Conv2d{.channels = 17, .kernel = 3}, Dropout{}, Flatten{}}, 0},
      {"flattened", {2, 5, 5}, {Conv2d{.channels = 32, .kernel = 3}, Flatten{}, Dropout{}}, 0},
      {"volume",
       {1, 4, 5, 5},
       {Conv3d{.channels = 20, .kernel = {2, 3, 3}}, Dropout{}, Flatten{}},
       0},
  };
  for (const OperationCase& one : cases) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const Images images(graph, 5);
    for (const std::uint64_t key : {0u, 1u, 77u}) {
      const auto expected = kept("reference", graph, images.batch(4), key);
      EXPECT_EQ(kept("onednn", graph, images.batch(4), key), expected);
      EXPECT_NE(kept("onednn", graph, images.batch(4), key + 1), expected);
    }
  }
}

}  // namespace
}  // namespace dllaunch
