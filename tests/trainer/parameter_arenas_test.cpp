#include "trainer/parameter_arenas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

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

class EveryBackend : public testing::TestWithParam<BackendEntry> {
 protected:
  void SetUp() override {
    auto backend = GetParam().open();
    if (!backend) GTEST_SKIP() << backend.error().what;
    made_.graph = *models()[0].build({.channels = 1, .height = 28, .width = 28}, 10);
    made_.backend = *std::move(backend);
    made_.executable = *made_.backend->compile(made_.graph, {.batch = 2, .threads = 1});
    made_.communicator = *open_communicator("solo", RankEnv{});
    made_.arenas = std::make_unique<ParameterArenas>(*made_.executable, *made_.communicator,
                                                     *find_optimizer("sgd"), options);
  }

  Arenas made_;
};

TEST_P(EveryBackend, WeightsAreThoseOfTheSeedInPlainLayout) {
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

TEST_P(EveryBackend, TensorsGoInAsTheyCameOut) {
  made_.arenas->initialise(made_.graph, 7);
  std::memset(made_.arenas->gradients().data(), 0, made_.arenas->gradients().size());
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

TEST_P(EveryBackend, RefusesTensorsOfAnotherModelByName) {
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

TEST_P(EveryBackend, RowsNameShapeTypeAndLayout) {
  const auto rows = table_rows(*made_.executable);
  ASSERT_EQ(rows.size(), made_.executable->slots().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& slot = made_.executable->slots()[i];
    EXPECT_THAT(rows[i], testing::StartsWith(slot.name + " " + to_string(slot.shape) + " f32 "));
    EXPECT_THAT(rows[i], testing::HasSubstr(slot.layout));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryBackend,
                         testing::ValuesIn(backends().begin(), backends().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dllaunch
