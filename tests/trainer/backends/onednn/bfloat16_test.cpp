// Training in bf16: what is rounded and what is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "tests/trainer/backends/onednn/step_names.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

const CompileOptions half{.batch = 5, .precision = Precision::bf16, .threads = 2};

/// 8 significant bits: each number has a rounding error of up to 0.2 %.
constexpr double tolerance = 0.02;
/// If rounding decides whether a ReLU passes a gradient, or which pixel of a window gets it: one
/// number in 200 that goes elsewhere is 7 % of the norm.
constexpr double tolerance_of_choices = 0.1;
/// A lower bound of bf16's error, whatever the order of sums: proves that bf16 was used.
constexpr double least_error = 2e-4;

class OneDnnBFloat16 : public testing::Test {
 protected:
  void SetUp() override {
    auto backend = backend_named("onednn").open();
    auto executable = (*backend)->compile(graph_of("lenet"), {.precision = Precision::bf16});
    if (!executable) GTEST_SKIP() << executable.error().what;
  }
};

/// Returns the nearest bf16, ties to even.
double rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t up = 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>((bits + up) & 0xFFFF0000U);
}

struct Outcome {
  ForwardResult result;
  std::vector<double> logits;
  Tensors gradients;
};

Outcome run(std::string_view backend, const Graph& graph, const CompileOptions& options) {
  Compiled compiled(backend_named(backend), graph, options);
  compiled.set_weights(random_weights(graph));
  const Images images(graph, options.batch);
  Outcome outcome;
  outcome.result = compiled->forward(images.batch(), Phase::train);
  outcome.logits = compiled->logits();
  compiled->backward(0.2, false, [](int) {});
  outcome.gradients = compiled.gradients();
  return outcome;
}

double gradient_tolerance(const Graph& graph) {
  const bool chooses = std::ranges::any_of(graph.nodes, [](const Node& node) {
    return std::holds_alternative<Relu>(node.op) || std::holds_alternative<MaxPool2d>(node.op);
  });
  return chooses ? tolerance_of_choices : tolerance;
}

/// Returns all gradients as one vector: those of a parameter that are nearly zero have no accuracy
/// of their own.
std::vector<double> joined(const Tensors& tensors) {
  std::vector<double> all;
  for (const auto& tensor : tensors) all.insert(all.end(), tensor.begin(), tensor.end());
  return all;
}

TEST_F(OneDnnBFloat16, AgreesWithReferenceOnEveryOperation) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const Outcome exact = run("reference", graph, {.batch = 5, .precision = Precision::fp64});
    const Outcome actual = run("onednn", graph, half);
    EXPECT_NEAR(actual.result.loss_sum, exact.result.loss_sum, tolerance * exact.result.loss_sum);
    EXPECT_LT(relative_error(actual.logits, exact.logits), tolerance);
    EXPECT_LT(relative_error(joined(actual.gradients), joined(exact.gradients)),
              gradient_tolerance(graph));
  }
}

TEST_F(OneDnnBFloat16, AgreesWithReferenceOnSmallModels) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    const Outcome exact = run("reference", graph, {.batch = 5, .precision = Precision::fp64});
    const Outcome actual = run("onednn", graph, half);
    EXPECT_LT(relative_error(actual.logits, exact.logits), tolerance);
    const double error = relative_error(joined(actual.gradients), joined(exact.gradients));
    EXPECT_LT(error, gradient_tolerance(graph));
    EXPECT_GT(error, least_error) << "these are fp32's digits";
  }
}

TEST_F(OneDnnBFloat16, RoundsImagesAndWeightsToTheNearestAndNothingElse) {
  // A single dense layer: logits are unrounded sums of products of rounded numbers.
  GraphBuilder net("m", {37});
  net.add("fc", Dense{.units = 5});
  auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  Compiled compiled(backend_named("onednn"), *graph, half);
  const Tensors weights = random_weights(*graph);
  compiled.set_weights(weights);
  const Images images(*graph, 5);
  compiled->forward(images.batch(), Phase::train);
  std::vector<double> expected;
  std::vector<double> of_whole_numbers;
  for (std::size_t n = 0; n < 5; ++n) {
    for (std::size_t u = 0; u < 5; ++u) {
      expected.push_back(weights[1][u]);
      of_whole_numbers.push_back(weights[1][u]);
      for (std::size_t f = 0; f < 37; ++f) {
        const float x = images.pixels[n * 37 + f];
        const double w = weights[0][u * 37 + f];
        expected.back() += rounded(x) * rounded(static_cast<float>(w));
        of_whole_numbers.back() += static_cast<double>(x) * w;
      }
    }
  }
  EXPECT_LT(relative_error(compiled->logits(), expected), 1e-6);
  EXPECT_GT(relative_error(compiled->logits(), of_whole_numbers), 5e-4);
}

TEST_F(OneDnnBFloat16, KeepsMasterWeightsWhole) {
  const Graph graph = graph_of("lenet");
  Compiled compiled(backend_named("onednn"), graph, half);
  compiled.set_weights(random_weights(graph));
  EXPECT_EQ(compiled->dtype(), DType::f32);
  const Images images(graph, 5);
  compiled->forward(images.batch(), Phase::train);
  compiled->backward(1, false, [](int) {});
  const Tensors expected = random_weights(graph);
  for (int slot = 0; slot < compiled.slot_count(); ++slot) {
    EXPECT_EQ(compiled.plain(slot, compiled.weight(slot)), expected[compiled.parameter_of(slot)]);
  }
}

TEST_F(OneDnnBFloat16, GradientsOfWeightsHaveAllDigits) {
  const Graph graph = graph_of("lenet");
  for (const auto& gradient : run("onednn", graph, half).gradients) {
    const auto whole = std::ranges::count_if(
        gradient, [](double value) { return value != rounded(static_cast<float>(value)); });
    EXPECT_GT(whole, static_cast<std::ptrdiff_t>(gradient.size() / 2));
  }
}

TEST_F(OneDnnBFloat16, ComputesInIt) {
  // The f32 primitives must have other names, or the comparison would prove nothing.
  Compiled whole(backend_named("onednn"), graph_of("cnn"), {.batch = 32, .threads = 1});
  Compiled rounded_ones(backend_named("onednn"), graph_of("cnn"),
                        {.batch = 32, .precision = Precision::bf16, .threads = 1});
  EXPECT_NE(whole->steps(), rounded_ones->steps());
  for (const std::string& step : rounded_ones->steps()) {
    EXPECT_EQ(step.find("ref"), std::string::npos) << step;
  }
}

TEST_F(OneDnnBFloat16, AccumulatesMicroBatches) {
  const Graph graph = graph_of("lenet");
  const Images images(graph, 5);
  Compiled compiled(backend_named("onednn"), graph, half);
  compiled.set_weights(random_weights(graph));
  compiled->forward(images.batch(), Phase::train);
  compiled->backward(0.5, false, [](int) {});
  const Tensors once = compiled.gradients();
  compiled->forward(images.batch(), Phase::train);
  compiled->backward(0.5, true, [](int) {});
  const Tensors twice = compiled.gradients();
  for (std::size_t p = 0; p < once.size(); ++p) {
    for (std::size_t i = 0; i < once[p].size(); ++i) ASSERT_EQ(twice[p][i], 2 * once[p][i]);
  }
}

Outcome outcome_of(Compiled& compiled, const Batch& batch) {
  Outcome outcome;
  outcome.result = compiled->forward(batch, Phase::train);
  outcome.logits = compiled->logits();
  compiled->backward(0.2, false, [](int) {});
  outcome.gradients = compiled.gradients();
  return outcome;
}

/// Bit for bit: absent rows are in no sum.
TEST_F(OneDnnBFloat16, LeavesAbsentRowsOut) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    for (const int count : {0, 1, 3}) {
      Images black(graph, half.batch);
      const auto present = static_cast<std::size_t>(count * elements_of(graph.input_shape()));
      std::fill(black.pixels.begin() + static_cast<std::ptrdiff_t>(present), black.pixels.end(),
                0.F);
      Images spoilt = black;
      std::fill(spoilt.pixels.begin() + static_cast<std::ptrdiff_t>(present), spoilt.pixels.end(),
                std::numeric_limits<float>::quiet_NaN());
      Compiled fresh(backend_named("onednn"), graph, half);
      fresh.set_weights(random_weights(graph));
      const Outcome expected = outcome_of(fresh, black.batch(count));
      Compiled used(backend_named("onednn"), graph, half);
      used.set_weights(random_weights(graph));
      const Images earlier(graph, half.batch, 99);
      outcome_of(used, earlier.batch());
      const Outcome actual = outcome_of(used, spoilt.batch(count));
      EXPECT_EQ(actual.result.loss_sum, expected.result.loss_sum);
      EXPECT_EQ(actual.result.correct, expected.result.correct);
      EXPECT_EQ(actual.logits, expected.logits);
      EXPECT_EQ(actual.gradients, expected.gradients);
      ASSERT_EQ(actual.logits.size(),
                static_cast<std::size_t>(count * graph.labels() * graph.classes()));
    }
  }
}

/// Uses the running statistics without changing them; an image's output does not depend on the
/// others.
TEST_F(OneDnnBFloat16, EvaluatesAsReferenceDoes) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const Images images(graph, half.batch);
    Compiled exact(backend_named("reference"), graph, {.batch = 5, .precision = Precision::fp64});
    Compiled compiled(backend_named("onednn"), graph, half);
    exact.set_weights(random_weights(graph));
    compiled.set_weights(random_weights(graph));
    for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
      const auto size = static_cast<std::size_t>(elements_of(graph.buffers[i].shape));
      for (Compiled* each : {&exact, &compiled}) {
        (*each)->set_buffer(static_cast<int>(i),
                            std::vector<double>(size, i % 2 == 0 ? 0.5 : 0.75));
      }
    }
    for (const int count : {5, 2}) {
      exact->forward(images.batch(count), Phase::evaluate);
      const auto result = compiled->forward(images.batch(count), Phase::evaluate);
      EXPECT_LT(relative_error(compiled->logits(), exact->logits()), tolerance);
      EXPECT_GT(result.loss_sum, 0);
    }
    const std::vector<double> two = compiled->logits();
    compiled->forward(images.batch(1), Phase::evaluate);
    const std::vector<double> one_alone = compiled->logits();
    EXPECT_TRUE(std::equal(one_alone.begin(), one_alone.end(), two.begin()));
    for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
      EXPECT_EQ(compiled->buffer(static_cast<int>(i)), exact->buffer(static_cast<int>(i)));
    }
  }
}

TEST(OneDnnPrecision, HasNoTrainingInFloat16) {
  auto backend = backend_named("onednn").open();
  auto executable = (*backend)->compile(graph_of("lenet"), {.precision = Precision::fp16});
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(executable.error().what,
            "backend onednn does not compute in fp16: oneDNN has no training in it on CPUs");
  EXPECT_EQ(executable.error().hint, "use bf16, or fp32");
}

}  // namespace
}  // namespace dllaunch
