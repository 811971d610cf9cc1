// Behavioural tests of every backend: the interface's contract, and agreement with `reference` in
// double.
#include "trainer/backends/backend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "tests/trainer/backends/repeated_cases.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

constexpr double tolerance = 1e-4;
const CompileOptions exact{.batch = 5, .precision = Precision::fp64};
const CompileOptions single{.batch = 5, .precision = Precision::fp32, .threads = 2};

/// The results of a step, which are compared between backends.
struct Outcome {
  ForwardResult result;
  std::vector<double> logits;
  Tensors gradients;
};

Outcome run(Compiled& compiled, const Batch& batch, double scale = 1) {
  Outcome outcome;
  outcome.result = compiled->forward(batch, Phase::train);
  outcome.logits = compiled->logits();
  compiled->backward(scale, false, [](int) {});
  outcome.gradients = compiled.gradients();
  return outcome;
}

Outcome reference_outcome(const Graph& graph, const Batch& batch, double scale = 1) {
  Compiled compiled(backend_named("reference"), graph, exact);
  compiled.set_weights(random_weights(graph));
  return run(compiled, batch, scale);
}

void expect_same(const Graph& graph, const Outcome& actual, const Outcome& expected) {
  EXPECT_NEAR(actual.result.loss_sum, expected.result.loss_sum,
              tolerance * expected.result.loss_sum);
  EXPECT_EQ(actual.result.correct, expected.result.correct);
  EXPECT_LT(relative_error(actual.logits, expected.logits), tolerance);
  expect_close(graph, actual.gradients, expected.gradients, tolerance);
}

std::string name_of(const testing::TestParamInfo<BackendEntry>& info) {
  return std::string(info.param.name);
}

TEST(Backends, AreListedFastestFirst) {
  std::vector<std::string_view> names;
  for (const BackendEntry& entry : backends()) {
    names.push_back(entry.name);
    const bool of_a_gpu = entry.name == "cuda" || entry.name == "hip";
    EXPECT_EQ(entry.device, of_a_gpu ? entry.name : "cpu");
    EXPECT_FALSE(entry.version().empty());
  }
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.back(), "reference");
}

TEST(Backends, PlainSlotsRunFromTheLastNodeToTheFirst) {
  std::vector<std::string> names;
  const Graph graph = graph_of("cnn");
  for (const ParameterSlot& slot : plain_slots(graph)) {
    names.push_back(slot.name);
    EXPECT_EQ(graph.parameters[static_cast<std::size_t>(slot.parameter)].name, slot.name);
    EXPECT_EQ(static_cast<std::int64_t>(slot.elements), elements_of(slot.shape));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"fc2.weight", "fc2.bias", "fc1.weight", "fc1.bias",
                                      "conv2.weight", "conv2.bias", "conv1.weight", "conv1.bias"}));
}

TEST(Backends, PrecisionsHaveTheNamesUsersType) {
  EXPECT_EQ(to_string(Precision::fp32), "fp32");
  EXPECT_EQ(to_string(Precision::fp64), "fp64");
  EXPECT_EQ(to_string(Precision::tf32), "tf32");
  EXPECT_EQ(to_string(Precision::bf16), "bf16");
  EXPECT_EQ(to_string(Precision::fp16), "fp16");
}

class EveryBackend : public testing::TestWithParam<BackendEntry> {
 protected:
  void SetUp() override {
    if (repeats_others()) GTEST_SKIP() << "only with --full";
    auto opened = GetParam().open();
    if (!opened) GTEST_SKIP() << opened.error().what;
  }

  Compiled compiled(const Graph& graph, const CompileOptions& options = single) const {
    Compiled result(GetParam(), graph, options);
    result.set_weights(random_weights(graph));
    return result;
  }
};

TEST_P(EveryBackend, AgreesWithReferenceOnEveryOperation) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const Images images(graph, single.batch);
    Compiled under_test = compiled(graph);
    expect_same(graph, run(under_test, images.batch(), 0.25),
                reference_outcome(graph, images.batch(), 0.25));
  }
}

TEST_P(EveryBackend, LeavesAbsentRowsOut) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    Images images(graph, single.batch);
    const auto row = static_cast<std::size_t>(elements_of(graph.input_shape()));
    for (int count = 0; count < single.batch; count += 3) {
      Compiled under_test = compiled(graph);
      run(under_test, images.batch());  // leaves stale values in the rows that are absent later
      Images with_nan = images;
      std::fill(with_nan.pixels.begin() + static_cast<std::ptrdiff_t>(row) * count,
                with_nan.pixels.end(), std::numeric_limits<float>::quiet_NaN());
      expect_same(graph, run(under_test, with_nan.batch(count)),
                  reference_outcome(graph, images.batch(count)));
    }
  }
}

/// Returns all buffers of the graph, concatenated.
std::vector<double> buffers_of(Compiled& compiled, const Graph& graph) {
  std::vector<double> all;
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const auto buffer = compiled->buffer(static_cast<int>(i));
    EXPECT_EQ(static_cast<std::int64_t>(buffer.size()), elements_of(graph.buffers[i].shape));
    all.insert(all.end(), buffer.begin(), buffer.end());
  }
  return all;
}

TEST_P(EveryBackend, MovesRunningStatisticsAndEvaluatesWithThem) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    if (graph.buffers.empty()) continue;
    Compiled under_test = compiled(graph);
    Compiled expected(backend_named("reference"), graph, exact);
    expected.set_weights(random_weights(graph));
    for (const unsigned step : {1U, 2U, 3U}) {
      // The third has absent images.
      const Images images(graph, single.batch, step);
      const int count = step == 3 ? 3 : single.batch;
      under_test->forward(images.batch(count), Phase::train);
      expected->forward(images.batch(count), Phase::train);
    }
    const auto before = buffers_of(under_test, graph);
    EXPECT_LT(relative_error(before, buffers_of(expected, graph)), tolerance);
    const Images images(graph, single.batch, 4);
    const ForwardResult result = under_test->forward(images.batch(4), Phase::evaluate);
    const ForwardResult wanted = expected->forward(images.batch(4), Phase::evaluate);
    EXPECT_NEAR(result.loss_sum, wanted.loss_sum, tolerance * wanted.loss_sum);
    EXPECT_LT(relative_error(under_test->logits(), expected->logits()), tolerance);
    EXPECT_EQ(buffers_of(under_test, graph), before) << "only training moves them";
  }
}

TEST_P(EveryBackend, KeepsTheBuffersItIsGiven) {
  GraphBuilder net("m", {2, 4, 4});
  net.add("conv", Conv2d{.channels = 17, .kernel = 3});
  net.add("bn", BatchNorm{});
  net.add("pool", GlobalAvgPool{});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  Compiled under_test = compiled(*graph);
  EXPECT_EQ(under_test->buffer(0), std::vector<double>(17, 0.0));
  EXPECT_EQ(under_test->buffer(1), std::vector<double>(17, 1.0));
  EXPECT_EQ(under_test->buffer(2), std::vector<double>(1, 0.0));
  std::vector<double> values(17);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1 * static_cast<double>(i);
  under_test->set_buffer(1, values);
  EXPECT_EQ(under_test->buffer(1), values);
  EXPECT_EQ(under_test->buffer(0), std::vector<double>(17, 0.0));
}

/// A batch without images changes nothing.
TEST_P(EveryBackend, AnEmptyBatchMovesNoStatistics) {
  for (const OperationCase& one : operation_cases()) {
    const Graph graph = one.graph();
    Compiled under_test = compiled(graph);
    const auto before = buffers_of(under_test, graph);
    under_test->forward(Images(graph, single.batch).batch(0), Phase::train);
    EXPECT_EQ(buffers_of(under_test, graph), before) << one.name;
  }
}

TEST_P(EveryBackend, AccumulatesMicroBatches) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    if (has_dropout(graph)) continue;  // two micro-batches have different masks
    const Images images(graph, 5);
    const auto row = static_cast<std::size_t>(elements_of(graph.input_shape()));
    Compiled under_test = compiled(graph);
    const auto pixels = std::span(images.pixels);
    const auto labels = std::span(images.labels);
    under_test->forward({.images = pixels, .labels = labels, .count = 3}, Phase::train);
    under_test->backward(0.2, false, [](int) {});
    const Batch last{.images = pixels.subspan(3 * row),
                     .labels = labels.subspan(3 * static_cast<std::size_t>(graph.labels())),
                     .count = 2};
    under_test->forward(last, Phase::train);
    under_test->backward(0.2, true, [](int) {});
    expect_close(graph, under_test.gradients(),
                 reference_outcome(graph, images.batch(), 0.2).gradients, tolerance);

    // A later backward pass without `accumulate` overwrites both.
    for (const bool accumulate : {false, true}) {
      under_test->forward(last, Phase::train);
      under_test->backward(0.2, accumulate, [](int) {});
    }
    expect_close(graph, under_test.gradients(), reference_outcome(graph, last, 0.4).gradients,
                 tolerance);
  }
}

/// The same batch twice gives twice the gradients; a third time without accumulating, the same
/// bits.
TEST_P(EveryBackend, AccumulatesOverEveryOperation) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const Images images(graph, single.batch);
    Compiled under_test = compiled(graph);
    const auto pass = [&](bool accumulate) {
      under_test->forward(images.batch(), Phase::train);
      under_test->backward(0.5, accumulate, [](int) {});
      return under_test.gradients();
    };
    const Tensors once = pass(false);
    const Tensors again = pass(false);
    Tensors sums = pass(true);
    for (std::size_t parameter = 0; parameter < once.size(); ++parameter) {
      EXPECT_EQ(once[parameter], again[parameter]) << graph.parameters[parameter].name;
      for (double& sum : sums[parameter]) sum /= 2;
    }
    expect_close(graph, sums, once, tolerance);
  }
}

TEST_P(EveryBackend, ReportsEachSlotOnceInOrderWithItsFinalGradient) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    const Images images(graph, 4);
    Compiled under_test = compiled(graph, {.batch = 4});
    under_test->forward(images.batch(), Phase::train);
    std::vector<int> order;
    Tensors reported(graph.parameters.size());
    int chances = 0;
    under_test->backward(1, false, [&](int slot) {
      if (slot == no_slot) {
        ++chances;
        return;
      }
      order.push_back(slot);
      reported[under_test.parameter_of(slot)] = under_test.plain(slot, under_test.gradient(slot));
    });
    std::vector<int> expected(order.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int>(i);
    EXPECT_EQ(order, expected);
    EXPECT_EQ(order.size(), graph.parameters.size());
    EXPECT_GE(chances, 3);
    EXPECT_EQ(reported, under_test.gradients());
  }
}

TEST_P(EveryBackend, HasSlotsInTheOrderOfThePlainOnes) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    Compiled under_test = compiled(graph);
    const auto plain = plain_slots(graph);
    const auto& slots = under_test->slots();
    ASSERT_EQ(slots.size(), plain.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      EXPECT_EQ(slots[i].name, plain[i].name);
      EXPECT_EQ(slots[i].shape, plain[i].shape);
      EXPECT_EQ(slots[i].parameter, plain[i].parameter);
      EXPECT_GE(slots[i].elements, plain[i].elements);
      EXPECT_FALSE(slots[i].layout.empty());
    }
  }
}

TEST_P(EveryBackend, KeepsPlainValuesBitForBit) {
  for (const OperationCase& one : operation_cases()) {
    const Graph graph = one.graph();
    Compiled under_test = compiled(graph);
    const Tensors expected = random_weights(graph);
    for (int slot = 0; slot < under_test.slot_count(); ++slot) {
      EXPECT_EQ(under_test.plain(slot, under_test.weight(slot)),
                expected[under_test.parameter_of(slot)])
          << one.name << " slot " << slot;
    }
  }
}

/// Returns which elements of a slot are padding: those that stay zero if the parameter is all ones.
std::vector<bool> padding_of(Compiled& compiled, int slot) {
  const auto& info = compiled->slots()[static_cast<std::size_t>(slot)];
  const std::vector<float> ones(static_cast<std::size_t>(elements_of(info.shape)), 1.F);
  std::vector<float> before(info.elements);
  const auto* arena = static_cast<const float*>(compiled.weight(slot));
  std::copy_n(arena, info.elements, before.begin());
  compiled->from_plain(slot, ones.data(), compiled.weight(slot));
  std::vector<bool> padding(info.elements);
  for (std::size_t i = 0; i < info.elements; ++i) padding[i] = arena[i] == 0.F;
  std::copy(before.begin(), before.end(), static_cast<float*>(compiled.weight(slot)));
  return padding;
}

TEST_P(EveryBackend, KeepsPaddingZero) {
  for (const OperationCase& one : operation_cases()) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const Images images(graph, single.batch);
    Compiled under_test = compiled(graph);
    for (int step = 0; step < 3; ++step) {
      under_test->forward(images.batch(), Phase::train);
      under_test->backward(0.1, step == 1, [](int) {});
      for (int slot = 0; slot < under_test.slot_count(); ++slot) {
        const std::vector<bool> padding = padding_of(under_test, slot);
        const auto size = under_test->slots()[static_cast<std::size_t>(slot)].elements;
        auto* weight = static_cast<float*>(under_test.weight(slot));
        const auto* gradient = static_cast<const float*>(under_test.gradient(slot));
        for (std::size_t i = 0; i < size; ++i) {
          weight[i] -= 0.1F * (gradient[i] + 0.01F * weight[i]);
          if (padding[i]) {
            ASSERT_EQ(gradient[i], 0.F) << "slot " << slot;
            ASSERT_EQ(weight[i], 0.F) << "slot " << slot;
          }
        }
      }
    }
  }
}

TEST_P(EveryBackend, GivesTheSameBitsAgain) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    const Images images(graph, 5);
    Compiled first = compiled(graph);
    Compiled second = compiled(graph);
    const Outcome one = run(first, images.batch());
    for (int again = 0; again < 3; ++again) {
      const Outcome other = run(second, images.batch());
      EXPECT_EQ(one.result.loss_sum, other.result.loss_sum);
      EXPECT_EQ(one.logits, other.logits);
      EXPECT_EQ(one.gradients, other.gradients);
    }
  }
}

TEST_P(EveryBackend, LetsNaNImagesReachTheLoss) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    Compiled under_test = compiled(graph);
    Images images(graph, 5);
    images.pixels[images.pixels.size() / 3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(under_test->forward(images.batch(), Phase::train).loss_sum));
    EXPECT_FALSE(
        std::isnan(under_test->forward(Images(graph, 5).batch(), Phase::evaluate).loss_sum));
  }
}

TEST_P(EveryBackend, LetsNaNWeightsReachTheLoss) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    const Images images(graph, 5);
    for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
      Compiled under_test = compiled(graph);
      Tensors weights = random_weights(graph);
      weights[p].front() = std::numeric_limits<double>::quiet_NaN();  // of every sequence
      under_test.set_weights(weights);
      EXPECT_TRUE(std::isnan(under_test->forward(images.batch(), Phase::train).loss_sum))
          << graph.parameters[p].name;
    }
  }
}

/// In chains and residual blocks: finds every node with parameters, and the input.
TEST_P(EveryBackend, NamesTheFirstNodeThatGaveNoNumber) {
  for (const char* name :
       {"conv_16_channels", "block_with_projection", "batch_norm_of_vectors", "block_of_gpt"}) {
    SCOPED_TRACE(name);
    const auto cases = operation_cases();
    const Graph graph = std::ranges::find(cases, name, &OperationCase::name)->graph();
    const Images images(graph, single.batch);
    Compiled under_test = compiled(graph);
    for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
      for (const double bad :
           {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Tensors weights = random_weights(graph);
        weights[p].front() = bad;
        under_test.set_weights(weights);
        under_test->forward(images.batch(), Phase::train);
        const std::string found = under_test->first_non_finite(images.batch());
        const auto at = std::ranges::find(graph.nodes, found, &Node::name);
        ASSERT_NE(at, graph.nodes.end()) << graph.parameters[p].name << ": '" << found << "'";
        // An activation or addition may be fused with the previous layer.
        const auto owner = std::ranges::find_if(graph.nodes, [p](const Node& node) {
          return std::ranges::count(node.parameters, static_cast<int>(p)) > 0;
        });
        EXPECT_GE(at - owner, 0) << graph.parameters[p].name << ": " << found;
        EXPECT_LE(at - owner, 2) << graph.parameters[p].name << ": " << found;
      }
    }
    Images spoilt = images;
    spoilt.pixels.back() = std::numeric_limits<float>::quiet_NaN();
    under_test.set_weights(random_weights(graph));
    under_test->forward(spoilt.batch(), Phase::train);
    EXPECT_EQ(under_test->first_non_finite(spoilt.batch()), "input");
    Compiled sound = compiled(graph);
    sound->forward(images.batch(), Phase::train);
    const auto buffers = buffers_of(sound, graph);
    EXPECT_EQ(sound->first_non_finite(images.batch()), "");
    EXPECT_EQ(buffers_of(sound, graph), buffers) << "looking is no step";
    sound->backward(1, false, [](int) {});
    expect_close(graph, sound.gradients(), reference_outcome(graph, images.batch()).gradients,
                 tolerance);
  }
}

TEST_P(EveryBackend, AgreesWithReferenceOnWholeModels) {
  for (const ModelEntry& model : small_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    const Images images(graph, 5);
    for (const int threads : {1, 2}) {
      Compiled under_test = compiled(graph, {.batch = 5, .threads = threads});
      expect_same(graph, run(under_test, images.batch(), 0.2),
                  reference_outcome(graph, images.batch(), 0.2));
      Compiled expected(backend_named("reference"), graph, exact);
      expected.set_weights(random_weights(graph));
      EXPECT_EQ(under_test->forward(images.batch(), Phase::evaluate).correct,
                expected->forward(images.batch(), Phase::evaluate).correct);
    }
  }
}

TEST_P(EveryBackend, SharesWorkOutOnce) {
  const Graph graph = graph_of("lenet");
  for (const int threads : {1, 4}) {
    Compiled under_test = compiled(graph, {.batch = 1, .threads = threads});
    for (const int count : {0, 1, 1000}) {
      std::vector<int> calls(static_cast<std::size_t>(count));
      under_test->parallel_for(count, [&](int i) { ++calls[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(calls, std::vector<int>(calls.size(), 1));
    }
  }
}

TEST_P(EveryBackend, TakesThePrecisionsItNamesAndRefusesTheOthersByName) {
  auto backend = GetParam().open();
  const Graph graph = graph_of("lenet");
  const auto& named = GetParam().precisions;
  EXPECT_FALSE(named.empty());
  for (const auto precision :
       {Precision::fp32, Precision::fp64, Precision::tf32, Precision::bf16, Precision::fp16}) {
    SCOPED_TRACE(to_string(precision));
    const bool has = std::ranges::find(named, precision) != named.end();
    auto executable = (*backend)->compile(graph, {.batch = 1, .precision = precision});
    EXPECT_TRUE(has || !executable);
    if (executable) continue;
    // This CPU may lack bf16.
    EXPECT_EQ(executable.error().kind, has ? ErrorKind::unavailable : ErrorKind::bad_request);
    EXPECT_NE(executable.error().what.find(GetParam().name), std::string::npos);
    EXPECT_NE(executable.error().what.find(to_string(precision)), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryBackend,
                         testing::ValuesIn(compared({backends().begin(), backends().end()})),
                         name_of);

}  // namespace
}  // namespace dllaunch
