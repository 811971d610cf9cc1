#include "trainer/graph/stages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

std::vector<std::string> names_at(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (const int n : nodes) names.push_back(graph.nodes[static_cast<std::size_t>(n)].name);
  return names;
}

TEST(CutPoints, LieBeforeWeightsInAChain) {
  const Graph graph = graph_of("lenet");
  for (const int point : cut_points(graph)) {
    EXPECT_TRUE(traits_of(graph.nodes[static_cast<std::size_t>(point) + 1].op).weighted);
  }
  EXPECT_FALSE(cut_points(graph).empty());
}

TEST(CutPoints, LieBetweenTheBlocksOfResNet50) {
  const Graph graph = *find_model("resnet50")->build({3, 64, 64}, 10);
  const auto points = names_at(graph, cut_points(graph));
  EXPECT_EQ(std::ranges::count_if(points, [](auto& name) { return name.starts_with("layer"); }), 15)
      << testing::PrintToString(points);
}

TEST(CutPoints, LieBetweenTheBlocksOfGpt2) {
  const Graph graph = graph_of("gpt2-tiny");
  EXPECT_THAT(
      names_at(graph, cut_points(graph)),
      ElementsAre("transformer.wpe", "transformer.h.0.attn.add", "transformer.h.0.mlp.add",
                  "transformer.h.1.attn.add", "transformer.h.1.mlp.add", "transformer.ln_f"));
}

TEST(CutGraph, DealsOutNodesParametersAndBuffers) {
  for (const ModelEntry& model : models()) {
    SCOPED_TRACE(model.name);
    const Graph whole = graph_of(model);
    const auto points = cut_points(whole);
    const auto stages = cut_graph(whole, points);
    ASSERT_EQ(stages.size(), points.size() + 1);
    std::size_t nodes = 1;
    std::size_t buffers = 0;
    std::set<std::string> parameters;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const Graph& stage = stages[s];
      EXPECT_EQ(stage.joints.input, s > 0);
      EXPECT_EQ(stage.joints.output, s + 1 < stages.size());
      if (s > 0) {
        EXPECT_EQ(stage.input_shape(), stages[s - 1].nodes.back().shape);
      }
      nodes += stage.nodes.size() - 1;
      buffers += stage.buffers.size();
      std::set<std::string> own;
      for (const Parameter& parameter : stage.parameters) own.insert(parameter.name);
      EXPECT_EQ(own.size(), stage.parameters.size());
      parameters.merge(own);
    }
    EXPECT_EQ(nodes, whole.nodes.size());
    EXPECT_EQ(buffers, whole.buffers.size());
    EXPECT_EQ(parameters.size(), whole.parameters.size());
  }
}

TEST(CutGraph, LeavesAWholeNetworkAsItIs) {
  const Graph whole = graph_of("gpt2-tiny");
  const Graph same = cut_graph(whole, {}).front();
  EXPECT_EQ(same.nodes.size(), whole.nodes.size());
  EXPECT_TRUE(same.nodes.back().shares);
  EXPECT_FALSE(same.joints.input || same.joints.output);
}

TEST(CutGraph, GivesATiedParameterToEachStageThatReadsIt) {
  const Graph whole = graph_of("gpt2-tiny");
  const auto stages = cut_graph(whole, std::vector{cut_points(whole)[2]});
  for (const Graph& stage : stages) {
    EXPECT_EQ(std::ranges::count(stage.parameters, "transformer.wte.weight", &Parameter::name), 1);
  }
  EXPECT_FALSE(stages[1].nodes.back().shares);
}

using NamedTensors = std::map<std::string, std::vector<double>>;

struct Outcome {
  double loss = 0;
  int correct = 0;
  NamedTensors gradients;  // those of tied parameters are sums
};

NamedTensors named_weights(const Graph& graph) {
  const Tensors values = random_weights(graph);
  NamedTensors named;
  for (std::size_t p = 0; p < values.size(); ++p) named[graph.parameters[p].name] = values[p];
  return named;
}

/// Runs one batch through the stages, as a pipeline does.
Outcome run_stages(const BackendEntry& backend, const std::vector<Graph>& stages,
                   const CompileOptions& options, const NamedTensors& weights, const Batch& batch) {
  std::vector<Compiled> parts;
  for (const Graph& stage : stages) {
    parts.emplace_back(backend, stage, options);
    Tensors own;
    for (const Parameter& parameter : stage.parameters) own.push_back(weights.at(parameter.name));
    parts.back().set_weights(own);
  }
  Outcome outcome;
  const auto rows = static_cast<std::size_t>(batch.count);
  std::vector<float> between;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Batch input = batch;
    if (s > 0) input.images = between;
    const ForwardResult result = parts[s]->forward(input, Phase::train);
    outcome.loss += result.loss_sum;
    outcome.correct += result.correct;
    std::vector<float> output(rows *
                              static_cast<std::size_t>(elements_of(stages[s].nodes.back().shape)));
    if (stages[s].joints.output) parts[s]->read_output(output);
    between = std::move(output);
  }
  for (std::size_t s = stages.size(); s-- > 0;) {
    if (stages[s].joints.output) parts[s]->set_output_gradient(between);
    parts[s]->backward(0.25, false, [](int) {});
    between.resize(rows * static_cast<std::size_t>(elements_of(stages[s].input_shape())));
    if (stages[s].joints.input) parts[s]->read_input_gradient(between);
    const Tensors gradients = parts[s].gradients();
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      auto& sum = outcome.gradients[stages[s].parameters[p].name];
      sum.resize(gradients[p].size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[p][i];
    }
  }
  return outcome;
}

void expect_alike(const Outcome& actual, const Outcome& expected, double tolerance) {
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * (1 + std::abs(expected.loss)));
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_LT(relative_error(actual.gradients.at(name), gradient), tolerance) << name;
  }
}

/// Cut at every point at once, and once in the middle; the last rows are absent.
TEST(Stages, ComputeWhatTheNetworkDoes) {
  constexpr int batch = 5;
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph whole = graph_of(model);
    const Images images(whole, batch);
    const NamedTensors weights = named_weights(whole);
    const Outcome expected = run_stages(backend_named("reference"), {whole},
                                        {.batch = batch, .precision = Precision::fp64}, weights,
                                        images.batch(batch - 1));
    const auto points = cut_points(whole);
    ASSERT_FALSE(points.empty());
    for (const auto& cut : {points, {points[points.size() / 2]}}) {
      const auto stages = cut_graph(whole, cut);
      for (const BackendEntry& backend : compared(usable_backends())) {
        SCOPED_TRACE(backend.name);
        const Outcome got =
            run_stages(backend, stages, {.batch = batch}, weights, images.batch(batch - 1));
        expect_alike(got, expected, 2e-4);
        EXPECT_EQ(got.correct, expected.correct);
      }
    }
  }
}

class StagesIn : public testing::TestWithParam<Precision> {};

TEST_P(StagesIn, ComputeWhatTheNetworkDoes) {
  for (const BackendEntry& backend : compared(usable_backends())) {
    const auto opened = backend.open();
    const CompileOptions options{.batch = 4, .precision = GetParam(), .threads = 2};
    if (!(*opened)->compile(graph_of("lenet"), options)) continue;
    for (const ModelEntry& model : small_models()) {
      SCOPED_TRACE(model.name);
      const Graph whole = graph_of(model);
      const Images images(whole, 4);
      const NamedTensors weights = named_weights(whole);
      const auto points = cut_points(whole);
      const auto stages = cut_graph(whole, std::vector{points[points.size() / 2]});
      const Outcome expected = run_stages(backend, {whole}, options, weights, images.batch());
      const Outcome got = run_stages(backend, stages, options, weights, images.batch());
      EXPECT_NEAR(got.loss, expected.loss, 0.02 * expected.loss);
      for (const auto& [name, gradient] : expected.gradients) {
        EXPECT_LT(relative_error(got.gradients.at(name), gradient), 0.1) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, StagesIn,
                         testing::Values(Precision::tf32, Precision::bf16, Precision::fp16),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(Stages, ANumberThatIsNoneInAnOutputIsSeen) {
  const Graph whole = graph_of("lenet");
  const auto stages = cut_graph(whole, std::vector{cut_points(whole).front()});
  Images images(whole, 2);
  for (const BackendEntry& backend : usable_backends()) {
    SCOPED_TRACE(backend.name);
    Compiled first(backend, stages[0], {.batch = 2});
    first.set_weights(random_weights(stages[0]));
    EXPECT_EQ(first->forward(images.batch(), Phase::train).loss_sum, 0);
    Images bad = images;
    bad.pixels[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(first->forward(bad.batch(), Phase::train).loss_sum));
    EXPECT_EQ(first->first_non_finite(bad.batch()), "input");
    EXPECT_EQ(first->forward(Batch{}, Phase::train).loss_sum, 0) << "nothing is in it";
  }
}

}  // namespace
}  // namespace dllaunch
