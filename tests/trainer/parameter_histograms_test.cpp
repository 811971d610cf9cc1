#include "trainer/parameter_histograms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

namespace dllaunch {
namespace {

/// After one step of lenet on two images: the histograms, by tag.
std::map<std::string, Histogram> histograms_on(const BackendEntry& entry, bool shard) {
  auto backend = *entry.open();
  const Graph graph = *models()[0].build({.channels = 1, .height = 28, .width = 28}, 10);
  auto executable = *backend->compile(graph, {.batch = 2, .threads = 1});
  auto communicator = *open_communicator("solo", RankEnv{});
  ParameterArenas arenas(*executable, *communicator, *find_optimizer("sgd"), {.lr = 0.1}, shard);
  if (shard) arenas.deal(arenas.plan(1e6));
  arenas.initialise(graph, 7);
  std::mt19937 random(1);
  std::vector<float> images(2 * 28 * 28);
  for (float& pixel : images) pixel = static_cast<float>(random() % 256) / 256;
  const std::vector<std::int32_t> labels{3, 8};
  executable->forward({.images = images, .labels = labels, .count = 2}, Phase::train);
  executable->backward(0.5, /*accumulate=*/false, [](int) {});
  std::map<std::string, Histogram> found;
  for (const Histogram& histogram : parameter_histograms(*executable, arenas)) {
    double count = 0;
    for (const double bin : histogram.counts) count += bin;
    const std::string name = histogram.tag.substr(histogram.tag.find('/') + 1);
    const auto parameter = std::ranges::find(graph.parameters, name, &Parameter::name);
    if (parameter == graph.parameters.end()) {
      ADD_FAILURE() << name << " is no parameter";
      continue;
    }
    EXPECT_EQ(count, elements_of(parameter->shape)) << name;
    found.emplace(histogram.tag, histogram);
  }
  EXPECT_EQ(found.size(), graph.parameters.size() * (shard ? 1 : 2));
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
  const auto found = histograms_on(GetParam(), false);
  ASSERT_TRUE(found.contains("weights/conv1.weight"));
  ASSERT_TRUE(found.contains("gradients/conv1.weight"));
  EXPECT_GT(found.at("gradients/conv1.weight").sum_of_squares, 0);
  for (const auto& [tag, expected] : histograms_on(backends().back(), false)) {
    ASSERT_TRUE(found.contains(tag)) << tag;
    const Histogram& actual = found.at(tag);
    const double scale = std::sqrt(expected.sum_of_squares);
    EXPECT_NEAR(std::sqrt(actual.sum_of_squares), scale, 1e-4 * scale) << tag;
    EXPECT_NEAR(actual.least, expected.least, 1e-4 * scale) << tag;
    EXPECT_NEAR(actual.most, expected.most, 1e-4 * scale) << tag;
  }
}

TEST_P(HistogramsOnBackend, OfAShardedOptimiserAreOfWeights) {
  const auto found = histograms_on(GetParam(), true);
  EXPECT_TRUE(found.contains("weights/conv1.weight"));
  EXPECT_FALSE(found.contains("gradients/conv1.weight"));
}

INSTANTIATE_TEST_SUITE_P(Backends, HistogramsOnBackend,
                         testing::ValuesIn(backends().begin(), backends().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dllaunch
