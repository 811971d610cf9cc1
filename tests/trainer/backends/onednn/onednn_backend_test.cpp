#include <gtest/gtest.h>

#include <oneapi/dnnl/dnnl_version.h>

#include <string>

#include "tests/trainer/backends/onednn/step_names.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

/// One fallback to oneDNN's reference code costs more than the rest of a network.
TEST(OneDnn, NeverFallsBackToReferenceCode) {
  if (!onednn_has_kernels()) GTEST_SKIP() << "this oneDNN has only reference code on Arm";
  for (const ModelEntry& model : models()) {
    const Graph graph = graph_of(model);
    for (const int batch : {1, 32, 128}) {
      for (const std::string& step : onednn_steps(graph, batch)) {
        EXPECT_EQ(step.find("ref"), std::string::npos) << model.name << " " << batch << " " << step;
      }
    }
  }
}

TEST(OneDnn, RunsResidualNetworksOfTheirOwnSizeWithoutReferenceCode) {
  if (!onednn_has_kernels()) GTEST_SKIP() << "this oneDNN has only reference code on Arm";
  for (const ModelEntry& model : models()) {
    if (!model.name.starts_with("resnet50")) continue;
    const auto graph = model.build({.channels = 3, .height = 128, .width = 128}, 10);
    ASSERT_TRUE(graph);
    for (const std::string& step : onednn_steps(*graph, 16)) {
      EXPECT_EQ(step.find("ref"), std::string::npos) << model.name << " " << step;
    }
  }
}

TEST(OneDnn, SaysItsVersion) {
  const std::string wanted = "oneDNN " + std::to_string(DNNL_VERSION_MAJOR) + ".";
  EXPECT_EQ(backend_named("onednn").version().substr(0, wanted.size()), wanted);
}

TEST(OneDnn, LeavesDoubleToReference) {
  auto backend = backend_named("onednn").open();
  ASSERT_TRUE(backend);
  auto executable = (*backend)->compile(graph_of("lenet"), {.precision = Precision::fp64});
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().what, "backend onednn does not compute in fp64");
  EXPECT_EQ(executable.error().hint, "use backend reference");
}

TEST(OneDnn, ReportsGradientsBeforeItComputesTheInputs) {
  const Graph graph = graph_of("cnn");
  Compiled compiled(backend_named("onednn"), graph, {.batch = 2, .threads = 1});
  compiled.set_weights(random_weights(graph));
  compiled->forward(Images(graph, 2).batch(), Phase::train);
  std::vector<int> calls;
  compiled->backward(1, false, [&calls](int slot) { calls.push_back(slot); });
  ASSERT_GE(calls.size(), 3U);
  EXPECT_EQ(std::vector<int>(calls.begin(), calls.begin() + 3), (std::vector<int>{0, 1, no_slot}));
  EXPECT_EQ(calls.back(), 7);
}

TEST(OneDnn, UsesTheThreadsItIsGiven) {
  const Graph graph = graph_of("lenet");
  const Images images(graph, 8);
  std::vector<double> losses;
  for (const int threads : {0, 1, 2, 3}) {
    Compiled compiled(backend_named("onednn"), graph, {.batch = 8, .threads = threads});
    compiled.set_weights(random_weights(graph));
    losses.push_back(compiled->forward(images.batch(), Phase::train).loss_sum);
    EXPECT_NEAR(losses.back(), losses.front(), 1e-5 * losses.front()) << threads;
  }
}

}  // namespace
}  // namespace dllaunch
