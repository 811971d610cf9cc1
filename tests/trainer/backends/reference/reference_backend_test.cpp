// Compares the gradients of `reference` with central differences of its loss.
#include <gtest/gtest.h>

#include <set>
#include <variant>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

const CompileOptions exact{.batch = 3, .precision = Precision::fp64};

TEST(OperationCases, HoldEveryKindOfLayer) {
  std::set<std::size_t> kinds;
  for (const OperationCase& one : operation_cases()) {
    for (const Node& node : one.graph().nodes) kinds.insert(node.op.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Operation>);
}

class Gradients : public testing::TestWithParam<OperationCase> {};

TEST_P(Gradients, EqualCentralDifferences) {
  constexpr double step = 1e-5;
  constexpr double scale = 0.5;
  const Graph graph = GetParam().graph();
  const Images images(graph, exact.batch);
  Compiled compiled(backend_named("reference"), graph, exact);
  Tensors weights = random_weights(graph);
  compiled.set_weights(weights);
  compiled->forward(images.batch(), Phase::train);
  compiled->backward(scale, false, [](int) {});
  Tensors gradients = compiled.gradients();

  const auto loss_at = [&](double& weight, double value) {
    const double before = weight;
    weight = value;
    compiled.set_weights(weights);
    weight = before;
    return scale * compiled->forward(images.batch(), Phase::train).loss_sum;
  };
  // In large parameters, every seventh element or fewer.
  Tensors differences(weights.size());
  for (std::size_t p = 0; p < weights.size(); ++p) {
    const std::size_t stride = weights[p].size() < 60 ? 1 : 7 * (1 + weights[p].size() / 400);
    std::vector<double> looked_at;
    for (std::size_t i = 0; i < weights[p].size(); i += stride) {
      double& weight = weights[p][i];
      differences[p].push_back((loss_at(weight, weight + step) - loss_at(weight, weight - step)) /
                               (2 * step));
      looked_at.push_back(gradients[p][i]);
    }
    gradients[p] = looked_at;
  }
  expect_close(graph, gradients, differences, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Reference, Gradients, testing::ValuesIn(operation_cases()),
                         [](const auto& one) { return one.param.name; });

TEST(Reference, ConvolutionIsWrittenOut) {
  // x = 1..4 in a 2x2 image, w = 1..9 in a 3x3 kernel, one pixel of padding.
  GraphBuilder net("m", {1, 2, 2});
  net.add("conv", Conv2d{.channels = 1, .kernel = 3, .padding = 1});
  net.add("flatten", Flatten{});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  Compiled compiled(backend_named("reference"), *graph, {.batch = 1, .precision = Precision::fp64});
  compiled.set_weights({{1, 2, 3, 4, 5, 6, 7, 8, 9}, {0.5}});
  const std::vector<float> image{1, 2, 3, 4};
  const std::vector<std::int32_t> label{0};
  compiled->forward({.images = image, .labels = label, .count = 1}, Phase::evaluate);
  EXPECT_EQ(compiled->logits(), (std::vector<double>{77.5, 67.5, 47.5, 37.5}));
}

TEST(Reference, GradientsDoNotDependOnTheRowsThereAre) {
  const Graph graph = graph_of("lenet");
  const Images images(graph, 4);
  Tensors seen;
  for (const int batch : {4, 9}) {
    Compiled compiled(backend_named("reference"), graph,
                      {.batch = batch, .precision = Precision::fp64});
    compiled.set_weights(random_weights(graph));
    compiled->forward(images.batch(4), Phase::train);
    compiled->backward(1, false, [](int) {});
    if (batch == 4) seen = compiled.gradients();
    EXPECT_EQ(compiled.gradients(), seen);
  }
}

TEST(Reference, ReluAndMaxPoolLetNaNPass) {
  GraphBuilder net("m", {1, 2, 2});
  net.add("relu", Relu{});
  net.add("pool", MaxPool2d{});
  net.add("flatten", Flatten{});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  Compiled compiled(backend_named("reference"), *graph, {.batch = 1, .precision = Precision::fp32});
  for (std::size_t at = 0; at < 4; ++at) {
    std::vector<float> image{1, 2, 3, 4};
    image[at] = std::nanf("");
    const std::vector<std::int32_t> label{0};
    compiled->forward({.images = image, .labels = label, .count = 1}, Phase::evaluate);
    EXPECT_TRUE(std::isnan(compiled->logits().front())) << at;
  }
}

}  // namespace
}  // namespace dllaunch
