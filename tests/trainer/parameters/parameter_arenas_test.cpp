#include "trainer/parameters/parameter_arenas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

const OptimizerOptions options{.lr = 0.1, .momentum = 0.5};

struct Arenas {
  Graph graph;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<ParameterArenas> arenas;
};

/// Sets all gradients, wherever they are.
void set_gradients(Executable& executable, const ParameterArenas& arenas,
                   std::span<const float> values) {
  const auto place = arenas.gradients();
  ASSERT_EQ(values.size_bytes(), place.size());
  if (arenas.on_device()) {
    executable.device_arenas()->copy(place.data(), values.data(), place.size());
  } else {
    std::memcpy(place.data(), values.data(), place.size());
  }
}

class EveryBackend : public testing::TestWithParam<BackendEntry> {
 protected:
  void SetUp() override {
    auto backend = GetParam().open();
    if (!backend) GTEST_SKIP() << backend.error().what;
    made_.graph = *find_model("lenet")->build({.channels = 1, .height = 28, .width = 28}, 10);
    made_.backend = *std::move(backend);
    made_.executable = *made_.backend->compile(made_.graph, {.batch = 2, .threads = 1});
    made_.communicator = *open_communicator("solo", RankEnv{});
    made_.arenas = std::make_unique<ParameterArenas>(*made_.executable, *made_.communicator,
                                                     *find_optimizer("sgd"), options);
  }

  Arenas made_;
};

TEST_P(EveryBackend, InitialWeightsDependOnTheSeedOnly) {
  made_.arenas->initialise(made_.graph, 7);
  const auto tensors = made_.arenas->weights();
  ASSERT_EQ(tensors.size(), made_.graph.parameters.size());
  auto reference = *backends().back().open();
  auto executable = *reference->compile(made_.graph, {.batch = 1});
  auto communicator = *open_communicator("solo", RankEnv{});
  ParameterArenas expected(*executable, *communicator, *find_optimizer("sgd"), options);
  expected.initialise(made_.graph, 7);
  for (const auto& tensor : tensors) {
    const auto all = expected.weights();
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Tensor& t) { return t.name == tensor.name; });
    ASSERT_NE(same, all.end()) << tensor.name;
    EXPECT_EQ(tensor.shape, same->shape);
    EXPECT_EQ(tensor.data, same->data) << tensor.name;
  }
}

/// A parameter split into many parts for threads, the last one short.
TEST_P(EveryBackend, ThreadsUpdateEachElementOnce) {
  GraphBuilder net("m", {300});
  net.add("fc", Dense{.units = 1001});
  const Graph graph = *std::move(net).finish();
  for (const int threads : {1, 3}) {
    auto executable = *made_.backend->compile(graph, {.batch = 2, .threads = threads});
    ParameterArenas arenas(*executable, *made_.communicator, *find_optimizer("sgd"), options);
    arenas.initialise(graph, 7);
    const auto before = arenas.weights();
    set_gradients(*executable, arenas,
                  std::vector<float>(arenas.gradients().size() / sizeof(float), 1.F));
    for (const std::int64_t step : {1, 2}) arenas.update({.lr = 0.1, .step = step});
    const auto after = arenas.weights();
    for (std::size_t t = 0; t < before.size(); ++t) {
      for (std::size_t i = 0; i < before[t].data.size(); i += sizeof(float)) {
        float was = 0;
        float is = 0;
        std::memcpy(&was, &before[t].data[i], sizeof was);
        std::memcpy(&is, &after[t].data[i], sizeof is);
        // v = 1, then 0.5 * 1 + 1. A GPU may round a product and its sum once.
        ASSERT_FLOAT_EQ(is, (was - 0.1F * 1.F) - 0.1F * 1.5F) << before[t].name << " " << i;
      }
    }
  }
}

TEST_P(EveryBackend, TensorsRoundTrip) {
  made_.arenas->initialise(made_.graph, 7);
  const auto weights = made_.arenas->weights();
  auto states = made_.arenas->states();
  ASSERT_EQ(states.size(), weights.size());
  EXPECT_THAT(states[0].name, testing::EndsWith(".momentum_buffer"));
  states[0].data[0] = std::byte{1};
  made_.arenas->initialise(made_.graph, 8);
  ASSERT_TRUE(made_.arenas->load_weights(weights));
  ASSERT_TRUE(made_.arenas->load_states(states));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(made_.arenas->weights()[i].data, weights[i].data);
    EXPECT_EQ(made_.arenas->states()[i].data, states[i].data);
  }
}

TEST_P(EveryBackend, RejectsTensorsOfAnotherModelByName) {
  auto tensors = made_.arenas->weights();
  const std::string name = tensors[1].name;
  auto reshaped = tensors;
  reshaped[1].shape = {3};
  EXPECT_THAT(made_.arenas->load_weights(reshaped).error().what,
              testing::StartsWith(name + " is f32 [3], this run needs f32 ["));
  auto retyped = tensors;
  retyped[1].type = DType::f64;
  EXPECT_THAT(made_.arenas->load_weights(retyped).error().what,
              testing::StartsWith(name + " is f64 ["));
  auto more = tensors;
  more.push_back({.name = "extra", .type = DType::f32, .shape = {}, .data = {}});
  EXPECT_THAT(made_.arenas->load_weights(more).error().what, testing::HasSubstr("this run needs"));
  tensors.erase(tensors.begin() + 1);
  EXPECT_EQ(made_.arenas->load_weights(tensors).error().what, "has no " + name);
}

/// With LARS, computed from tensors: |w| and |g| of each parameter in any layout, without biases.
TEST_P(EveryBackend, NormsAreThoseOfThePlainParameter) {
  const OptimizerOptions lars{.trust_coefficient = 0.5};
  ParameterArenas arenas(*made_.executable, *made_.communicator, *find_optimizer("lars"), lars);
  arenas.initialise(made_.graph, 7);
  const auto before = arenas.weights();
  std::vector<float> gradients_of_all(arenas.gradients().size() / sizeof(float));
  for (int slot = 0; slot < std::ssize(made_.executable->slots()); ++slot) {
    const auto& of = made_.executable->slots()[static_cast<std::size_t>(slot)];
    std::vector<float> plain(static_cast<std::size_t>(elements_of(of.shape)));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      plain[i] = std::sin(static_cast<float>(i) + static_cast<float>(of.parameter));
    }
    made_.executable->from_plain(
        slot, plain.data(),
        arenas.layout().at(std::as_writable_bytes(std::span(gradients_of_all)), slot));
  }
  set_gradients(*made_.executable, arenas, gradients_of_all);
  arenas.update({.lr = 0.25});
  const auto after = arenas.weights();
  for (std::size_t t = 0; t < after.size(); ++t) {
    const auto values = [](const Tensor& tensor) {
      std::vector<float> floats(tensor.data.size() / sizeof(float));
      std::memcpy(floats.data(), tensor.data.data(), tensor.data.size());
      return floats;
    };
    const auto was = values(before[t]);
    const auto is = values(after[t]);
    const auto& of = made_.executable->slots()[t];
    double weight_sum = 0;
    double gradient_sum = 0;
    std::vector<double> gradients;
    for (std::size_t i = 0; i < was.size(); ++i) {
      gradients.push_back(std::sin(static_cast<float>(i) + static_cast<float>(of.parameter)));
      weight_sum += double{was[i]} * was[i];
      gradient_sum += gradients.back() * gradients.back();
    }
    const double local =
        of.shape.size() == 1 ? 1 : 0.5 * std::sqrt(weight_sum) / std::sqrt(gradient_sum);
    for (std::size_t i = 0; i < was.size(); ++i) {
      ASSERT_NEAR(is[i], was[i] - 0.25 * local * gradients[i], 1e-6) << after[t].name;
    }
  }
}

TEST_P(EveryBackend, RowsNameShapeTypeAndLayout) {
  const auto rows = table_rows(*made_.executable);
  ASSERT_EQ(rows.size(), made_.executable->slots().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& slot = made_.executable->slots()[i];
    EXPECT_THAT(rows[i], testing::StartsWith(slot.name + " " + to_string(slot.shape) + " f32 "));
    EXPECT_THAT(rows[i], testing::HasSubstr(slot.layout));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryBackend, testing::ValuesIn(usable_backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dllaunch
