#include "trainer/reports/parameter_histograms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

struct Steps {
  std::string_view optimizer = "sgd";
  bool shard = false;
  bool any = true;
  bool frozen = false;  // conv1.weight
};

/// Returns the histograms, by tag, after one step of lenet on two images.
std::map<std::string, Histogram> histograms_on(const BackendEntry& entry, const Steps& steps) {
  auto backend = *entry.open();
  Graph graph = *find_model("lenet")->build({.channels = 1, .height = 28, .width = 28}, 10);
  auto executable = *backend->compile(graph, {.batch = 2, .threads = 1});
  auto communicator = *open_communicator("solo", RankEnv{});
  const OptimizerOptions options{.lr = 0.1};
  ParameterArenas arenas(*executable, *communicator, *find_optimizer(steps.optimizer), options,
                         {.shard = steps.shard});
  graph.parameters[0].frozen = steps.frozen;
  arenas.freeze(graph);
  if (steps.shard) arenas.deal(arenas.plan(1e6));
  arenas.initialise(graph, 7);
  std::mt19937 random(1);
  std::vector<float> images(2 * 28 * 28);
  for (float& pixel : images) pixel = static_cast<float>(random() % 256) / 256;
  const std::vector<std::int32_t> labels{3, 8};
  executable->forward({.images = images, .labels = labels, .count = 2}, Phase::train);
  executable->backward(0.5, /*accumulate=*/false, [](int) {});
  arenas.update({.lr = 0.1});
  std::map<std::string, Histogram> found;
  for (const Histogram& histogram : parameter_histograms(*executable, arenas, steps.any)) {
    double count = 0;
    for (const double bin : histogram.counts) count += bin;
    const std::string name = histogram.tag.substr(histogram.tag.find('/') + 1);
    const auto parameter = std::ranges::find(graph.parameters, name, &Parameter::name);
    if (parameter == graph.parameters.end()) {
      ADD_FAILURE() << name << " is not a parameter";
      continue;
    }
    EXPECT_EQ(count, elements_of(parameter->shape)) << name;
    found.emplace(histogram.tag, histogram);
  }
  EXPECT_EQ(found.size() + (steps.frozen ? 1 : 0),
            graph.parameters.size() * (steps.shard || !steps.any ? 1 : 2));
  return found;
}

class HistogramsOnBackend : public testing::TestWithParam<BackendEntry> {
 protected:
  void SetUp() override {
    auto opened = GetParam().open();
    if (!opened) GTEST_SKIP() << opened.error().what;
  }
};

TEST_P(HistogramsOnBackend, AreOfPlainWeightsAndGradients) {
  const auto found = histograms_on(GetParam(), {});
  ASSERT_TRUE(found.contains("weights/conv1.weight"));
  ASSERT_TRUE(found.contains("gradients/conv1.weight"));
  EXPECT_GT(found.at("gradients/conv1.weight").sum_of_squares, 0);
  for (const auto& [tag, expected] : histograms_on(backends().back(), {})) {
    ASSERT_TRUE(found.contains(tag)) << tag;
    const Histogram& actual = found.at(tag);
    const double scale = std::sqrt(expected.sum_of_squares);
    EXPECT_NEAR(std::sqrt(actual.sum_of_squares), scale, 1e-4 * scale) << tag;
    EXPECT_NEAR(actual.least, expected.least, 1e-4 * scale) << tag;
    EXPECT_NEAR(actual.most, expected.most, 1e-4 * scale) << tag;
  }
}

/// A frozen parameter's gradient is not reduced.
TEST_P(HistogramsOnBackend, OfAFrozenParameterAreOfWeights) {
  const auto found = histograms_on(GetParam(), {.frozen = true});
  EXPECT_TRUE(found.contains("weights/conv1.weight"));
  EXPECT_FALSE(found.contains("gradients/conv1.weight"));
  EXPECT_TRUE(found.contains("gradients/conv1.bias"));
}

TEST_P(HistogramsOnBackend, OfAShardedOptimiserAreOfWeights) {
  const auto found = histograms_on(GetParam(), {.shard = true});
  EXPECT_TRUE(found.contains("weights/conv1.weight"));
  EXPECT_FALSE(found.contains("gradients/conv1.weight"));
}

TEST_P(HistogramsOnBackend, SayDirectionsWhereGradientsHaveBecomeThem) {
  const auto found = histograms_on(GetParam(), {.optimizer = "lamb"});
  ASSERT_TRUE(found.contains("directions/conv1.weight"));
  EXPECT_FALSE(found.contains("gradients/conv1.weight"));
  // Adam's first step, as large as 1 wherever the gradient is not tiny.
  const Histogram& directions = found.at("directions/conv1.weight");
  EXPECT_NEAR(std::max(-directions.least, directions.most), 1, 1e-3);
  const auto plain = histograms_on(GetParam(), {}).at("gradients/conv1.weight");
  for (const auto& optimizer : optimizers()) {
    const auto of_each = histograms_on(GetParam(), {.optimizer = optimizer.name});
    const bool kept = of_each.contains("gradients/conv1.weight");
    EXPECT_NE(kept, of_each.contains("directions/conv1.weight")) << optimizer.name;
    if (!kept) continue;
    EXPECT_EQ(of_each.at("gradients/conv1.weight").sum_of_squares, plain.sum_of_squares)
        << optimizer.name << " changes gradients without declaring it";
  }
}

TEST_P(HistogramsOnBackend, WithoutAStepAreOfWeights) {
  const auto found = histograms_on(GetParam(), {.any = false});
  EXPECT_TRUE(found.contains("weights/conv1.weight"));
  EXPECT_FALSE(found.contains("gradients/conv1.weight"));
}

INSTANTIATE_TEST_SUITE_P(Backends, HistogramsOnBackend, testing::ValuesIn(usable_backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dllaunch
